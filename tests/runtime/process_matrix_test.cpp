// Every pattern, variant and shard on the CPU with a process for each rank: what holds among threads holds among
// processes, whose kernels run at the same time.

#include <gtest/gtest.h>

#include <string>

#include "iris/run.hpp"
#include "processes.hpp"
#include "run_samples.hpp"

namespace iris::process_matrix_test {
namespace {

using test::Algorithm;
using test::build;
using test::Sample;

class ProcessMatrix : public testing::TestWithParam<Algorithm> {};

TEST_P(ProcessMatrix, EveryElementIsRight) {
  const Algorithm& algorithm = GetParam();
  for (const int world : {2, 3, 4}) {
    for (const Extents& extents : test::awkward_extents(algorithm, world)) {
      const Sample sample{.algorithm = algorithm, .world = world, .extents = test::known_extents(algorithm, extents)};
      SCOPED_TRACE(sample.text());
      const BuiltOperation built = build(sample);
      const auto outcomes = test::run_ranks(world, [&](int) {
        const RunReport report = run_operation(
            built, {.extents = extents, .seed = static_cast<std::uint64_t>(world), .repeat = 9, .processes = true});
        const BuffersOfRanks& contents = report.outputs.front().content;
        bool whole = static_cast<int>(contents.size()) == world;  // every rank has the report of all
        for (const auto& content : contents) whole = whole && content.size() == contents.front().size();
        return std::string(report.passed && report.verified ? "right" : "wrong") + (whole ? "" : ", in part");
      });
      for (const auto& outcome : outcomes) EXPECT_EQ(outcome.said, "right");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProcessMatrix, testing::ValuesIn(test::every_algorithm()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace iris::process_matrix_test
