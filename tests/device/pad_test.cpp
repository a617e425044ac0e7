// The templates of pad/: rows that begin anywhere become rows of whole cache lines, with zeros behind them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "iris/device/main_loop.hpp"
#include "iris/device/reduce.hpp"
#include "iris/device/unaligned.hpp"
#include "tests/device/fake_engine.hpp"

// Templates include it once more, to no effect: they take the Config of the namespace that they are in.
namespace sample {
#include "templates/sample_config.hpp"
}

namespace iris::device::pad_test {
namespace {

/// A thread is a block, since the engine has no others beside it.
template <typename T>
struct Alone : sample::Config {
  using Element = T;
  static constexpr i32 blocks = 3;
  static constexpr i32 threads = 1;
  static constexpr i32 unroll = 2;
  static constexpr i32 tile_m = 64;
  static constexpr i32 tile_n = 128 / sizeof(T);
  static constexpr i32 cache_line = tile_n;
};

namespace bytes {
struct Config : Alone<e4m3> {};
namespace rows {
#include "templates/pad/rows.hip"
}
namespace transposed {
#include "templates/pad/transposed.hip"
}
}  // namespace bytes
namespace halves {
struct Config : Alone<bf16> {};
namespace rows {
#include "templates/pad/rows.hip"
}
namespace transposed {
#include "templates/pad/transposed.hip"
}
}  // namespace halves
namespace words {
struct Config : Alone<f32> {};
namespace rows {
#include "templates/pad/rows.hip"
}
namespace transposed {
#include "templates/pad/transposed.hip"
}
}  // namespace words
namespace doubles {
struct Config : Alone<f64> {};
namespace rows {
#include "templates/pad/rows.hip"
}
namespace transposed {
#include "templates/pad/transposed.hip"
}
}  // namespace doubles

/// Of exactly so many bytes, so that sanitizers see what is read behind them.
class Bytes {
 public:
  explicit Bytes(std::size_t count)
      : memory_(static_cast<unsigned char*>(::operator new(count, std::align_val_t{16}))) {
    for (std::size_t i = 0; i < count; ++i) memory_.get()[i] = static_cast<unsigned char>(i * 37 % 251 + 1);
  }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  struct Delete {
    void operator()(unsigned char* memory) const { ::operator delete(memory, std::align_val_t{16}); }
  };
  std::unique_ptr<unsigned char, Delete> memory_;
};

template <typename T, typename Kernel>
std::vector<unsigned char> padded(const Kernel& kernel, const Bytes& input, i64 m, i64 n) {
  constexpr i64 guard = 8;  // rows that are nobody's
  FakeEngine engine;
  std::vector<T> output(static_cast<std::size_t>((m + guard) * round_up(n, Alone<T>::cache_line)));
  std::memset(output.data(), 0xee, output.size() * sizeof(T));
  for (u32 block = 0; block < Alone<T>::blocks; ++block)
    engine.run(block, 0, [&] { kernel(Context{}, input.as<T>(), output.data(), m, n); });
  const auto* const first = reinterpret_cast<const unsigned char*>(output.data());
  return {first, first + output.size() * sizeof(T)};
}

/// What is there of element (row, column), of `across` in a row, in an input that is it or its transpose.
template <typename T>
void expect_padded(const std::vector<unsigned char>& output, const Bytes& input, i64 m, i64 n, bool transposed) {
  const i64 pitch = round_up(n, Alone<T>::cache_line);
  const auto* const from = input.as<unsigned char>();
  for (i64 row = 0; row < static_cast<i64>(output.size() / sizeof(T)) / pitch; ++row) {
    for (i64 column = 0; column < pitch; ++column) {
      unsigned char expected[sizeof(T)] = {};
      if (row >= m) {
        std::ranges::fill(expected, 0xee);
      } else if (column < n) {
        std::memcpy(expected, from + (transposed ? column * m + row : row * n + column) * sizeof(T), sizeof(T));
      }
      ASSERT_EQ(std::memcmp(&output[(row * pitch + column) * sizeof(T)], expected, sizeof(T)), 0)
          << "element (" << row << ", " << column << ") of " << m << " x " << n;
    }
  }
}

/// Lengths of up to two lines, so that rows begin at every byte that an element can.
template <typename T, typename Rows, typename Transposed>
void expect_every_length(const Rows& rows, const Transposed& transposed) {
  for (i64 n = 1; n <= 2 * Alone<T>::cache_line; n += n < 40 ? 1 : 7) {
    for (const i64 m : {i64{1}, i64{5}, i64{67}}) {
      const Bytes input(static_cast<std::size_t>(m * n) * sizeof(T));
      expect_padded<T>(padded<T>(rows, input, m, n), input, m, n, false);
      expect_padded<T>(padded<T>(transposed, input, m, n), input, m, n, true);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Pad, BringsRowsOfEveryLengthToWholeLines) {
  expect_every_length<e4m3>(bytes::rows::kernel, bytes::transposed::kernel);
  expect_every_length<bf16>(halves::rows::kernel, halves::transposed::kernel);
  expect_every_length<f32>(words::rows::kernel, words::transposed::kernel);
  expect_every_length<f64>(doubles::rows::kernel, doubles::transposed::kernel);
}

TEST(Pad, ReadsNothingOfAMatrixWithoutRows) {
  const Bytes input(1);
  for (const unsigned char byte : padded<bf16>(halves::rows::kernel, input, 0, 5)) EXPECT_EQ(byte, 0xee);
  for (const unsigned char byte : padded<bf16>(halves::transposed::kernel, input, 0, 5)) EXPECT_EQ(byte, 0xee);
}

}  // namespace
}  // namespace iris::device::pad_test
