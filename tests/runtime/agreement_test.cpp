#include "runtime/world/agreement.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace iris::agreement_test {
namespace {

constexpr std::uint64_t one = std::uint64_t{1} << 60;  // digests differ in their upper bits
constexpr std::uint64_t other = std::uint64_t{2} << 60;

TEST(Agreement, HoldsBetweenEqualLaunchesOnly) {
  Agreement agreement;
  EXPECT_TRUE(agreement.holds(1, one));
  EXPECT_TRUE(agreement.holds(2, other));
  EXPECT_TRUE(agreement.holds(1, one));
  EXPECT_FALSE(agreement.holds(2, one));
  EXPECT_FALSE(agreement.holds(1, other));
}

TEST(Agreement, ComparesNobodyWithALaunchLongPast) {
  Agreement agreement;
  for (std::uint64_t launch = 1; launch <= 1000; ++launch) EXPECT_TRUE(agreement.holds(launch, one));
  EXPECT_TRUE(agreement.holds(1, other));
  EXPECT_FALSE(agreement.holds(1000, other));
  EXPECT_TRUE(agreement.holds(1001, other));
}

TEST(Agreement, NoticesOneOfManyThatGoAtOnce) {
  for (int round = 0; round < 50; ++round) {
    Agreement agreement;
    std::vector<int> refused(4);
    {
      std::vector<std::jthread> ranks;
      for (int rank = 0; rank < 4; ++rank) {
        ranks.emplace_back([&, rank] {
          for (std::uint64_t launch = 1; launch <= 32; ++launch) {
            const bool odd = rank == 3 && launch == 17;
            refused.at(static_cast<std::size_t>(rank)) += agreement.holds(launch, odd ? other : one) ? 0 : 1;
          }
        });
      }
    }
    EXPECT_TRUE(refused[3] == 1 || refused[0] + refused[1] + refused[2] == 3) << "whoever came second is told";
    EXPECT_LE(refused[0] + refused[1] + refused[2] + refused[3], 3);
  }
}

}  // namespace
}  // namespace iris::agreement_test
