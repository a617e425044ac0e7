// A rank whose kernel never starts, on the CPU: in every pattern and variant.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "error_words.hpp"
#include "iris/world.hpp"
#include "run_samples.hpp"
#include "runtime/launch/launch_check.hpp"

namespace iris::missing_rank_test {
namespace {

using test::Algorithm;
using test::build;
using test::Sample;

/// By those that wait, at once.
TEST(MissingRank, IsNamedAndNobodyHangs) {
  for (const Algorithm& algorithm : test::every_algorithm()) {
    if (algorithm.pattern == "matmul") continue;  // its ranks do not wait for one another
    const Extents extents = test::is_matmul(algorithm) ? test::matmul_extents(algorithm, 3, 8, 16, 16)
                                                       : test::collective_extents(algorithm, 3, 1, 512);
    const Sample sample{.algorithm = algorithm, .world = 3, .extents = extents};
    BuiltOperation built = build(sample);
    built.manifest.timeout_ms = 24 * 3600 * 1000;  // nobody waits for that
    const int missing = 1;                         // the root of a broadcast, and the middle of a ring
    World ranks({.size = 3, .heap_bytes = 16U << 20U});
    const std::string sentence = test::error_of([&] {
      ranks.run([&](Context& context) {
        std::vector<void*> buffers;
        for (const Argument& argument : built.manifest.arguments) {
          buffers.push_back(context.allocate(static_cast<std::size_t>(bytes_of(argument, extents))));
        }
        Operation operation(context, built);
        if (context.rank() != missing) operation.launch(buffers);
        context.barrier();
      });
    });
    EXPECT_NE(sentence.find("deadlock"), std::string::npos) << sample.text() << sentence;
    EXPECT_NE(sentence.find("for rank 1 "), std::string::npos) << sample.text() << sentence;
    EXPECT_NE(sentence.find("rank 1 runs no kernel; it waits in barrier()"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(" of launch 1, saw no launch"), std::string::npos) << sample.text() << sentence;
  }
}

/// What was enqueued before may still read them, so they are its own until its kernel starts.
TEST(MissingRank, FindsItsOutputsAsTheyWere) {
  constexpr int missing = 2;  // not the root of a broadcast
  constexpr unsigned char untouched = 0x5a;
  for (const Algorithm& algorithm : test::every_algorithm()) {
    if (algorithm.pattern == "matmul") continue;  // its ranks write to nobody
    const Extents extents = test::is_matmul(algorithm) ? test::matmul_extents(algorithm, 3, 8, 16, 16)
                                                       : test::collective_extents(algorithm, 3, 1, 512);
    const Sample sample{.algorithm = algorithm, .world = 3, .extents = extents};
    const BuiltOperation built = build(sample);
    World ranks({.size = 3, .heap_bytes = 16U << 20U});
    std::vector<std::span<unsigned char>> outputs;
    const std::string sentence = test::error_of([&] {
      ranks.run([&](Context& context) {
        std::vector<void*> buffers;
        for (const Argument& argument : built.manifest.arguments) {
          const auto bytes = static_cast<std::size_t>(bytes_of(argument, extents));
          buffers.push_back(context.allocate(bytes));
          if (context.rank() != missing || argument.access == Access::read) continue;
          outputs.emplace_back(static_cast<unsigned char*>(buffers.back()), bytes);
          std::ranges::fill(outputs.back(), untouched);
        }
        Operation operation(context, built);
        context.barrier();
        if (context.rank() != missing) operation.launch(buffers);
        context.barrier();
      });
    });
    EXPECT_NE(sentence.find("deadlock"), std::string::npos) << sample.text() << sentence;
    ASSERT_FALSE(outputs.empty()) << sample.text();
    for (const auto& output : outputs) {
      EXPECT_EQ(std::ranges::count(output, untouched), std::ssize(output)) << sample.text();
    }
  }
}

}  // namespace
}  // namespace iris::missing_rank_test
