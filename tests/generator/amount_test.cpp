#include "generator/emit/amount.hpp"

#include <gtest/gtest.h>

namespace irisgen::amount_test {
namespace {

iris::Problem problem() {
  iris::Problem problem;
  problem.extents = {{"m", {.dynamic = true}}, {"n", {.value = 24}}};
  return problem;
}

std::string as_it_is(const std::string& extent) {
  return extent;
}

std::string spelled(const iris::Dimension& dimension) {
  return amount_of(dimension, problem(), as_it_is).text();
}

TEST(Amount, MultipliesWhatIsKnown) {
  EXPECT_EQ((Amount(6) * Amount(7)).text(), "42");
  EXPECT_EQ((Amount(2) * Amount::named("m") * Amount(3) * Amount::named("n")).text(), "6 * m * n");
  EXPECT_EQ((Amount(1) * Amount::named("m")).text(), "m");
}

TEST(Amount, IsZeroWhateverItIsMultipliedBy) {
  const Amount nothing = Amount(0) * Amount::named("m");
  EXPECT_TRUE(nothing.is_known());
  EXPECT_EQ(nothing.text(), "0");
}

TEST(Amount, SumsLeaveOutZeros) {
  EXPECT_EQ(sum_text({0, Amount(8) * Amount::named("rank"), Amount(0) * Amount::named("m"), 16}), "8 * rank + 16");
  EXPECT_EQ(sum_text({0, 0}), "0");
  EXPECT_EQ(sum_text({}), "0");
}

TEST(Amount, SpellsDimensionsInTheOrderOfLaunches) {
  EXPECT_EQ(spelled({"n", 2, 3}), "16");
  EXPECT_EQ(spelled({"m", 4}), "4 * m");
  EXPECT_EQ(spelled({"m", 2, 8}), "2 * m / 8");
  EXPECT_EQ(spelled({"m", 1, 1, -2}), "m - 2");
  EXPECT_EQ(spelled({"m", 1, 1, 0, 64}), "(m + 63) / 64 * 64");
  EXPECT_EQ(spelled({"m", 1, 2, 0, 16}), "(m / 2 + 15) / 16 * 16");
  EXPECT_EQ(spelled({"n", 1, 1, 0, 16}), "32");
  EXPECT_EQ(spelled({.offset = 5}), "5");
}

TEST(Amount, KeepsDivisionsTogetherInProducts) {
  EXPECT_EQ((Amount(3) * amount_of({"m", 1, 4}, problem(), as_it_is)).text(), "3 * (m / 4)");
}

}  // namespace
}  // namespace irisgen::amount_test
