// Products whose rows copy engines bring, or carry away, in portions.
#include <gtest/gtest.h>

#include <algorithm>

#include "irisgen/explain.hpp"
#include "tests/generator/samples.hpp"

namespace irisgen::portions_test {
namespace {

TEST(Portions, AreAsFewAsLetProductsBeginEarly) {
  const auto portions = [](const std::string& rest, const std::string& target) {
    return plan("all_gather_matmul", "variant: producer_consumer, dtype: bf16, " + rest, target)
        .kernels[1]
        .number("portions");
  };
  const auto of_rows = [&](int world, const std::string& m) {
    return portions("world: " + std::to_string(world) + ", shape: {n: 1280, k: 8192, m: " + m + "}", "sm_90a");
  };
  EXPECT_EQ(of_rows(1, "16384"), 8);
  EXPECT_EQ(of_rows(2, "1024"), 1);
  EXPECT_EQ(of_rows(2, "8192"), 4);
  EXPECT_EQ(of_rows(2, "65536"), 8);
  EXPECT_EQ(of_rows(4, "65536"), 2);  // to each of three others
  EXPECT_EQ(of_rows(8, "65536"), 1);
  EXPECT_EQ(of_rows(2, "dynamic"), 3);
  EXPECT_EQ(portions("world: 2, shape: {m: 8, n: 8, k: 8}", "host"), 3);
  EXPECT_EQ(portions("world: 2, shape: {m: 8, n: 8, k: 8}, config: {portions: 5}", "sm_90a"), 5);
}

/// As the model finds fastest, each a launch: one where nothing is to be hidden, more where more is, eight that go to
/// others at most.
TEST(Portions, OfAProductHideTheCopiesOfThoseBefore) {
  const auto portions = [](const std::string& pattern, const std::string& rest, const std::string& target) {
    return plan(pattern, "variant: producer_consumer, dtype: bf16, " + rest, target).kernels[1].number("portions");
  };
  const auto of_rows = [&](const std::string& pattern, int world, const std::string& m) {
    return portions(pattern, "world: " + std::to_string(world) + ", shape: {n: 8192, k: 3584, m: " + m + "}", "sm_90a");
  };
  for (const std::string pattern : {"matmul_all_gather", "matmul_reduce_scatter", "matmul_all_reduce"}) {
    EXPECT_EQ(of_rows(pattern, 1, "16384"), 1) << pattern;
    EXPECT_EQ(of_rows(pattern, 2, "128"), 1) << pattern;
    EXPECT_EQ(portions(pattern, "world: 2, shape: {m: 8, n: 8, k: 8}", "host"), 3) << pattern;
    EXPECT_EQ(portions(pattern, "world: 2, shape: {m: 8, n: 8, k: 8}, config: {portions: 5}", "sm_90a"), 5) << pattern;
  }
  EXPECT_LT(of_rows("matmul_all_gather", 2, "1024"), of_rows("matmul_all_gather", 2, "16384"));
  EXPECT_EQ(of_rows("matmul_all_gather", 4, "65536"), 8);
  EXPECT_EQ(of_rows("matmul_all_gather", 2, "dynamic"), 3);
  // The other half is multiplied beside the copy of the first.
  EXPECT_EQ(of_rows("matmul_reduce_scatter", 2, "8192"), 1);
  EXPECT_EQ(portions("matmul_reduce_scatter", "world: 2, shape: {m: 8192, n: 8192, k: 1024}", "sm_90a"), 4);
  EXPECT_LE(portions("matmul_reduce_scatter", "world: 4, shape: {m: 8192, n: 8192, k: 1024}", "sm_90a"), 2);
}

/// The last tile of each rank's 620 rows has fewer than the others, for which copies of so many are prepared.
TEST(Portions, OfAProductEndWithTheRowsOfARank) {
  const std::string rest =
      "variant: producer_consumer, dtype: bf16, layout: {b: nk}, world: 2, shape: {m: 1240, n: 4096, k: 4096}";
  for (const char* pattern : {"matmul_all_gather", "matmul_reduce_scatter", "matmul_all_reduce"}) {
    const std::vector<iris::MatrixMap> maps = plan(pattern, rest, "sm_90a").kernels[1].maps;
    const auto last = std::ranges::find_if(maps, [](const iris::MatrixMap& map) { return map.last_of.has_value(); });
    ASSERT_NE(last, maps.end()) << pattern;
    EXPECT_EQ(last->buffer, "a");
    EXPECT_EQ(last->last_of, (iris::Dimension{"m", 1, 2})) << pattern;
  }
}

/// As `irisgen explain` words them.
std::string steps_of(const Plan& plan) {
  const std::string text = explain(plan);
  const auto begin = text.find("  steps\n");
  return text.substr(begin, text.find("\n\n", begin) + 1 - begin);
}

TEST(Portions, OfAProductTakeTurnsInTwoStreams) {
  EXPECT_EQ(steps_of(plan("matmul_all_gather",
                          "variant: producer_consumer, dtype: bf16, world: 3, shape: {m: 30, n: 8, k: 8}, config: "
                          "{portions: 2}",
                          "host")),
            "  steps\n"
            "    stream 1: wait for stream 0\n"
            "    stream 1: launch barrier()\n"
            "    stream 2: wait for stream 0\n"
            "    launch matmul(a, b, output), portion 0\n"
            "    stream 1: wait for stream 0\n"
            "    stream 1: copy part 1 of 2 of output to rank + 1's output\n"
            "    stream 1: copy part 1 of 2 of output to rank + 2's output\n"
            "    stream 2: launch matmul(a, b, output), portion 1\n"
            "    stream 1: wait for stream 2\n"
            "    stream 1: copy part 2 of 2 of output to rank + 1's output\n"
            "    stream 1: copy part 2 of 2 of output to rank + 2's output\n"
            "    wait for stream 1\n"
            "    wait for stream 2\n"
            "    launch barrier()\n");
  EXPECT_EQ(steps_of(plan("matmul_all_reduce",
                          "variant: producer_consumer, dtype: bf16, world: 3, shape: {m: 30, n: 8, k: 8}, config: "
                          "{portions: 1}",
                          "host")),
            "  steps\n"
            "    stream 1: wait for stream 0\n"
            "    stream 1: launch barrier()\n"
            "    stream 2: wait for stream 0\n"
            "    launch matmul(a, b, products), portion 1\n"
            "    stream 1: wait for stream 0\n"
            "    stream 1: copy products to rank + 1's arrived\n"
            "    stream 2: launch matmul(a, b, products), portion 2\n"
            "    stream 1: wait for stream 2\n"
            "    stream 1: copy products to rank + 2's arrived\n"
            "    launch matmul(a, b, arrived), portion 0\n"
            "    wait for stream 1\n"
            "    wait for stream 2\n"
            "    launch sum(arrived, output)\n");
}

TEST(Portions, OfAProductAreRowsOfOneLength) {
  const std::string rest = "variant: producer_consumer, dtype: bf16, world: 4, ";
  expect_refused("matmul_all_gather", "shard: n, " + rest + "shape: {m: 64, n: 64, k: 64}", "host",
                 "copies whole rows, and with shard: n each rank makes columns");
  for (const char* m : {"62", "dynamic"}) {
    expect_refused("matmul_all_reduce", rest + "shape: {n: 64, k: 64, m: " + std::string(m) + "}", "host",
                   "sums as many rows on each rank, and m is not known to be a multiple of 4");
  }
}

/// Where the runtime makes kernels of copies, products that wait for these must not take the whole chip.
TEST(Portions, LeaveAComputeUnitToCopiesThatAreKernels) {
  const std::string rows = "variant: producer_consumer, dtype: bf16, world: 2, shape: {m: 65536, n: 8192, k: 64}";
  EXPECT_EQ(plan("all_gather_matmul", rows, "gfx942").kernels[1].number("blocks"), 303);
  EXPECT_EQ(plan("all_gather_matmul", rows, "sm_90a").kernels[1].number("blocks"), 132);
  // Here copies wait for products.
  EXPECT_EQ(plan("matmul_all_gather", rows, "gfx942").kernels[1].number("blocks"), 304);
  expect_refused("all_gather_matmul", rows + ", config: {blocks: 304}", "gfx942", "write 303 or less");
  expect_planned("all_gather_matmul", rows + ", config: {blocks: 303}", "gfx942");
}

}  // namespace
}  // namespace irisgen::portions_test
