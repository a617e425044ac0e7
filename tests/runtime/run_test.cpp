// run_operation: data in, verified results out.

#include "iris/run.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host_kernels.hpp"
#include "processes.hpp"
#include "runtime/verify/random.hpp"

namespace iris::run_test {
namespace {

using test::error_of;
using test::host_operation;

RunOptions options_of(std::int64_t n) {
  RunOptions options;
  options.extents = {{"n", n}};
  return options;
}

TEST(Run, VerifiesEveryElementOfEveryRankAndLaunch) {
  RunOptions options = options_of(1001);
  options.repeat = 6;
  const RunReport report = run_operation(host_operation("sum_of_three", 3), options);
  EXPECT_TRUE(report.verified);
  EXPECT_TRUE(report.passed);
  EXPECT_EQ(report.elements, 6 * 3 * 1001);
  EXPECT_EQ(report.wrong, 0);
  EXPECT_EQ(report.worst.element.error, 0);
  EXPECT_EQ(report.device, "CPU (fibers)");
  EXPECT_EQ(report.outputs.front().name, "output");
  EXPECT_EQ(report.outputs.front().shape, (std::vector<std::int64_t>{1, 1001}));
  EXPECT_GT(report.launch_ms, 0);
}

TEST(Run, FindsWrongResultsAndSaysWhere) {
  // Adds each element's index, where the manifest promises a sum over one rank: only element 0 is right.
  const RunReport report = run_operation(host_operation("add_index", 1), options_of(100));
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.wrong, 99);
  EXPECT_EQ(report.worst.rank, 0);
  EXPECT_EQ(report.worst.element.index, 1);
  EXPECT_EQ(report.worst.element.actual, report.worst.element.expected + 1);
}

TEST(Run, FindsOutputsThatWereNotWritten) {
  const RunReport report = run_operation(host_operation("plain_store", 1), options_of(64));
  EXPECT_FALSE(report.passed);
  EXPECT_GE(report.wrong, 62);
}

/// Memory is fresh and so all zero, which is just what the sum should be: only poison tells that nobody wrote it.
TEST(Run, FindsOutputsThatWereNotWrittenWhereZeroIsRight) {
  RunOptions options = options_of(64);
  options.inputs["input"] = {std::vector<std::byte>(256)};
  EXPECT_EQ(run_operation(host_operation("plain_store", 1), options).wrong, 64);
}

TEST(Run, FindsTheOneRankThatIsWrong) {
  // Element 0 of add_index is the rank's own input: the sum of all on ranks 0 and 1, and not on rank 2.
  RunOptions options = options_of(1);
  for (const double value : {5, 5, -5}) options.inputs["input"].push_back(to_bytes(std::vector{value}, Dtype::i32));
  const RunReport report = run_operation(host_operation("add_index", 3), options);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.wrong, 1);
  EXPECT_EQ(report.worst.rank, 2);
  EXPECT_EQ(report.worst.element.actual, -5);
  EXPECT_EQ(report.worst.element.expected, 5);
}

TEST(Run, DoesNotJudgeUnlessAsked) {
  RunOptions options = options_of(100);
  options.verify = false;
  const RunReport report = run_operation(host_operation("add_index", 1), options);
  EXPECT_FALSE(report.verified);
  EXPECT_TRUE(report.passed);
  EXPECT_EQ(report.elements, 0);
}

TEST(Run, FindsWritesBeyondTheEndOfABuffer) {
  // note_order writes 128 elements whatever n is.
  RunOptions options = options_of(100);
  options.verify = false;
  const RunReport report = run_operation(host_operation("note_order", 1), options);
  EXPECT_FALSE(report.passed);
  ASSERT_FALSE(report.violations.empty());
  EXPECT_EQ(report.violations.front(), "memory next to 'output' of rank 0 (launch 0) was overwritten");
}

TEST(Run, FindsWritesBeforeABufferAndIntoAnInput) {
  RunOptions options = options_of(100);
  options.verify = false;
  const RunReport report = run_operation(host_operation("strays", 1), options);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.violations,
            (std::vector<std::string>{"the input 'input' of rank 0 (launch 0) was overwritten",
                                      "memory next to 'output' of rank 0 (launch 0) was overwritten"}));
}

TEST(Run, TakesInputsAndGivesOutputs) {
  RunOptions options = options_of(4);
  const irisgen::Values first = {1, 2, 3, -4};
  const irisgen::Values second = {10, 20, 30, 40};
  const irisgen::Values third = {100, 200, 300, 2147483647};
  for (const irisgen::Values& values : {first, second, third}) {
    options.inputs["input"].push_back(to_bytes(values, Dtype::i32));
  }
  const RunReport report = run_operation(host_operation("sum_of_three", 3), options);
  EXPECT_TRUE(report.passed);
  for (const auto& output : report.outputs.front().content) {
    EXPECT_EQ(to_values(output, Dtype::i32), (irisgen::Values{111, 222, 333, -2147483613.0}));
  }
}

TEST(Run, KeepsNoOutputsWhereNoneAreWanted) {
  RunOptions options = options_of(1000);
  options.keep_outputs = false;
  const RunReport report = run_operation(host_operation("sum_of_three", 3), options);
  EXPECT_TRUE(report.passed);
  EXPECT_EQ(report.elements, 3000);
  EXPECT_EQ(report.outputs.at(0).shape, (std::vector<std::int64_t>{1, 1000}));
  EXPECT_TRUE(report.outputs.at(0).content.empty());
}

TEST(Run, KeepsNoOutputsOfProcessesWhereNoneAreWanted) {
  RunOptions options = options_of(1000);
  options.keep_outputs = false;
  options.processes = true;
  const auto outcomes = test::run_ranks(3, [&](int) {
    const RunReport report = run_operation(host_operation("sum_of_three", 3), options);
    return std::to_string(report.elements) + (report.passed ? " right" : " wrong") +
           (report.outputs.at(0).content.empty() ? ", none kept" : ", kept");
  });
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome.said, "3000 right, none kept");
}

TEST(Run, RefusesInputsThatDoNotFit) {
  const BuiltOperation built = host_operation("sum_of_three", 3);
  const auto failure = [&](const std::string& name, const BuffersOfRanks& buffers) {
    RunOptions options = options_of(4);
    options.inputs[name] = buffers;
    return error_of([&] { run_operation(built, options); });
  };
  const std::vector<std::byte> right(16);
  EXPECT_EQ(failure("inptu", {right, right, right}), "sum_of_three reads no argument 'inptu'");
  EXPECT_EQ(failure("output", {right, right, right}), "sum_of_three reads no argument 'output'");
  EXPECT_EQ(failure("input", {right, right}), "'input' is given for 2 ranks, but sum_of_three runs on 3");
  EXPECT_EQ(failure("input", {right, std::vector<std::byte>(12), right}),
            "'input' of rank 1 has 12 bytes, but sum_of_three takes 16");
}

TEST(Run, NeedsADynamicExtent) {
  EXPECT_EQ(error_of([] { run_operation(host_operation("add_index", 1), {}); }),
            "add_index: n is dynamic, so every launch must give it");
}

TEST(Run, MakesTheSameDataFromTheSameSeed) {
  RunOptions options = options_of(100);
  options.verify = false;
  const BuiltOperation built = host_operation("sum_of_three", 3);
  const BuffersOfRanks first = run_operation(built, options).outputs.front().content;
  EXPECT_EQ(run_operation(built, options).outputs.front().content, first);
  options.seed = 1;
  EXPECT_NE(run_operation(built, options).outputs.front().content, first);
}

TEST(Run, DrawsOtherDataForEveryRankAndLaunch) {
  RunOptions options = options_of(50);
  options.seed = 9;
  options.repeat = 2;
  irisgen::Values sums(50);
  for (int rank = 0; rank < 3; ++rank) {
    const RandomStream stream{.seed = 9, .rank = rank, .argument = 0, .launch = 1};
    const auto values = random_values(stream, sums.size(), Dtype::i32, Op::sum);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = round_to(sums[i] + values[i], Dtype::i32);
  }
  const RunReport report = run_operation(host_operation("sum_of_three", 3), options);
  for (const auto& output : report.outputs.front().content) {
    EXPECT_EQ(to_values(output, Dtype::i32), sums);
  }
}

TEST(Run, TheSeedDecidesTheOrderOfExecution) {
  const auto order = [](std::uint64_t seed) {
    RunOptions options = options_of(128);
    options.seed = seed;
    options.verify = false;
    return run_operation(host_operation("note_order", 2), options).outputs.front().content;
  };
  EXPECT_EQ(order(3), order(3));
  EXPECT_NE(order(3), order(4));
}

TEST(Run, PassesOnTheReportOfADeadlock) {
  EXPECT_NE(
      error_of([] { run_operation(host_operation("missing_signal", 3), options_of(64)); }).find("waits for rank 1"),
      std::string::npos);
}

TEST(Run, RefusesWhatDoesNotFitIntoMemoryBeforeTakingAny) {
  const std::string error =
      error_of([] { run_operation(host_operation("sum_of_three", 3), options_of(std::int64_t{1} << 44)); });
  EXPECT_NE(error.find("sum_of_three: a run on 3 ranks takes "), std::string::npos) << error;
  EXPECT_NE(error.find(" are available; take a smaller shape or fewer ranks"), std::string::npos) << error;
}

TEST(Run, TellsHowItGetsOn) {
  std::vector<std::string> stages;
  RunOptions options = options_of(10);
  options.repeat = 5;
  options.progress = [&](std::string_view stage, int done, int total) {
    EXPECT_EQ(total, 5);
    EXPECT_LE(done, total);
    if (stages.empty() || stages.back() != stage) stages.emplace_back(stage);
  };
  run_operation(host_operation("sum_of_three", 3), options);
  EXPECT_EQ(stages, (std::vector<std::string>{"load", "launch", "verify", "launch", "verify"}));
}

/// What is wrong on one rank alone, such as too little memory: the others are told, and the next run is one of all.
TEST(Run, OfProcessesIsRefusedOnOneRankAndDoneOnAllAfterwards) {
  const auto outcomes = test::run_ranks(2, [](int number) {
    RunOptions options = options_of(100);
    options.processes = true;
    RunOptions wrong = options;
    if (number == 1) wrong.inputs["inputs"] = {};
    std::string said;
    for (int round = 0; round < 2; ++round) {
      said += error_of([&] { run_operation(host_operation("sum_of_two", 2), wrong); }) + ";";
    }
    const RunReport report = run_operation(host_operation("sum_of_two", 2), options);
    return said + (report.verified && report.passed ? "right" : "wrong");
  });
  const std::string own = "sum_of_two reads no argument 'inputs'";
  EXPECT_EQ(outcomes[1].said, own + ";" + own + ";right");
  test::expect_part(outcomes[0].said, "rank 1 (process ");
  test::expect_part(outcomes[0].said, "has ended");
  EXPECT_TRUE(outcomes[0].said.ends_with(";right")) << outcomes[0].said;
}

}  // namespace
}  // namespace iris::run_test
