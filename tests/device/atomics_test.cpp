#include "iris/device/atomics.hpp"

#include <gtest/gtest.h>

#include "tests/device/fake_engine.hpp"

namespace iris::device::atomics_test {
namespace {

template <typename T>
class Atomics : public testing::Test {
 protected:
  /// Each access has been announced and reported, and whether it changed memory.
  void expect_changes(const std::vector<u32>& expected) {
    EXPECT_EQ(engine.announced, 0);
    EXPECT_EQ(engine.changes, expected);
  }
  FakeEngine engine;
  FakeHeaps heaps{2};
  Context context = heaps.context(0);
  T* mine = heaps.object<T>(0);
  T* theirs = heaps.object<T>(1);
};
using Types = testing::Types<i32, u32, i64, u64, f32, f64>;
TYPED_TEST_SUITE(Atomics, Types);

TYPED_TEST(Atomics, LoadAndStoreReachTheRankThatIsNamed) {
  using T = TypeParam;
  atomic_store<Order::release>(on_rank(this->context, this->mine, 1), static_cast<T>(7));
  EXPECT_EQ(*this->mine, static_cast<T>(0));
  EXPECT_EQ(atomic_load<Order::acquire>(on_rank(this->context, this->mine, 1)), static_cast<T>(7));
  this->expect_changes({1, 0});
}

TYPED_TEST(Atomics, ExchangeReturnsTheOldValue) {
  using T = TypeParam;
  *this->mine = static_cast<T>(5);
  EXPECT_EQ((atomic_xchg<Order::acq_rel, Scope::gpu>(this->mine, static_cast<T>(6))), static_cast<T>(5));
  EXPECT_EQ(*this->mine, static_cast<T>(6));
  this->expect_changes({1});
}

TYPED_TEST(Atomics, CompareAndSwapStoresOnlyWhatWasExpected) {
  using T = TypeParam;
  *this->mine = static_cast<T>(5);
  EXPECT_EQ(atomic_cas(this->mine, static_cast<T>(4), static_cast<T>(9)), static_cast<T>(5));
  EXPECT_EQ(*this->mine, static_cast<T>(5));
  EXPECT_EQ(atomic_cas<Order::acquire>(this->mine, static_cast<T>(5), static_cast<T>(9)), static_cast<T>(5));
  EXPECT_EQ(*this->mine, static_cast<T>(9));
  this->expect_changes({0, 1});
}

TYPED_TEST(Atomics, AddAndSubtractReturnTheOldValue) {
  using T = TypeParam;
  *this->mine = static_cast<T>(5);
  EXPECT_EQ((atomic_add<Order::relaxed, Scope::block>(this->mine, static_cast<T>(3))), static_cast<T>(5));
  EXPECT_EQ(atomic_sub<Order::release>(this->mine, static_cast<T>(6)), static_cast<T>(8));
  EXPECT_EQ(*this->mine, static_cast<T>(2));
  EXPECT_EQ(atomic_add(this->mine, static_cast<T>(0)), static_cast<T>(2));
  this->expect_changes({1, 1, 0});
}

template <typename T>
class IntegerAtomics : public Atomics<T> {};
using IntegerTypes = testing::Types<i32, u32, i64, u64>;
TYPED_TEST_SUITE(IntegerAtomics, IntegerTypes);

TYPED_TEST(IntegerAtomics, CombineBits) {
  using T = TypeParam;
  *this->mine = 0b1100;
  EXPECT_EQ(atomic_and(this->mine, static_cast<T>(0b0110)), static_cast<T>(0b1100));
  EXPECT_EQ(atomic_or(this->mine, static_cast<T>(0b0001)), static_cast<T>(0b0100));
  EXPECT_EQ(atomic_xor(this->mine, static_cast<T>(0b1111)), static_cast<T>(0b0101));
  EXPECT_EQ(*this->mine, static_cast<T>(0b1010));
}

TYPED_TEST(IntegerAtomics, KeepTheSmallerAndTheLarger) {
  using T = TypeParam;
  *this->mine = 10;
  EXPECT_EQ(atomic_min(this->mine, static_cast<T>(12)), static_cast<T>(10));
  EXPECT_EQ(atomic_min(this->mine, static_cast<T>(8)), static_cast<T>(10));
  EXPECT_EQ(atomic_max(this->mine, static_cast<T>(5)), static_cast<T>(8));
  EXPECT_EQ(atomic_max(this->mine, static_cast<T>(-1)), static_cast<T>(8));  // the largest, if unsigned
  EXPECT_EQ(*this->mine, static_cast<T>(-1) > static_cast<T>(8) ? static_cast<T>(-1) : static_cast<T>(8));
}

TYPED_TEST(IntegerAtomics, WrapAround) {
  using T = TypeParam;
  constexpr T largest = static_cast<T>(static_cast<T>(-1) > 0 ? ~u64{0} : ~u64{0} >> (65 - 8 * sizeof(T)));
  *this->mine = largest;
  atomic_add(this->mine, static_cast<T>(2));
  EXPECT_LT(*this->mine, static_cast<T>(2));
  atomic_sub(this->mine, static_cast<T>(2));
  EXPECT_EQ(*this->mine, largest);
}

}  // namespace
}  // namespace iris::device::atomics_test
