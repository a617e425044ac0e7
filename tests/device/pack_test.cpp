#include "iris/device/pack.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace iris::device::pack_test {
namespace {

template <typename T, int width>
void expect_round_trip() {
  alignas(16) T source[2 * width];
  alignas(16) T destination[3 * width];
  for (int i = 0; i < 2 * width; ++i) source[i] = static_cast<T>(i + 1);
  for (int i = 0; i < 3 * width; ++i) destination[i] = static_cast<T>(99);
  const Pack<T, width> pack = load_pack<width>(source + width);
  store_pack(destination + width, pack);
  for (int lane = 0; lane < width; ++lane) {
    EXPECT_EQ(pack[lane], static_cast<T>(width + lane + 1));
    EXPECT_EQ(destination[width + lane], static_cast<T>(width + lane + 1));
    EXPECT_EQ(destination[lane], static_cast<T>(99));
    EXPECT_EQ(destination[2 * width + lane], static_cast<T>(99));
  }
}

TEST(Pack, TravelsToMemoryAndBackAtEveryWidth) {
  expect_round_trip<f64, 1>();
  expect_round_trip<f64, 2>();
  expect_round_trip<f32, 1>();
  expect_round_trip<f32, 2>();
  expect_round_trip<f32, 4>();
  expect_round_trip<i32, 4>();
  expect_round_trip<unsigned short, 1>();
  expect_round_trip<unsigned short, 8>();
}

TEST(Pack, CarriesHalves) {
  alignas(16) f16 source[8];
  for (int i = 0; i < 8; ++i) source[i] = convert<f16>(i + 0.5f);
  alignas(16) bf16 destination[8] = {};
  const Pack<f32, 8> wide = convert_pack<f32>(load_pack<8>(source));
  store_pack(destination, convert_pack<bf16>(wide));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(wide[i], i + 0.5f);
    EXPECT_EQ(convert<f32>(destination[i]), i + 0.5f);
  }
}

TEST(Pack, IsCutOutOfTwoAtAnyByte) {
  unsigned char both[32];
  for (int i = 0; i < 32; ++i) both[i] = static_cast<unsigned char>(i + 1);
  Pack<u32, 4> first;
  Pack<u32, 4> second;
  std::memcpy(&first, both, 16);
  std::memcpy(&second, both + 16, 16);
  for (u32 begin = 0; begin < 16; ++begin) {
    const Pack<u32, 4> bytes = bytes_from(begin, first, second);
    EXPECT_EQ(std::memcmp(&bytes, both + begin, 16), 0) << begin;
  }
}

TEST(Pack, IsAlignedToItsSize) {
  static_assert(alignof(Pack<f32, 4>) == 16 && sizeof(Pack<f32, 4>) == 16);
  static_assert(alignof(Pack<f16, 2>) == 4 && sizeof(Pack<f16, 2>) == 4);
}

}  // namespace
}  // namespace iris::device::pack_test
