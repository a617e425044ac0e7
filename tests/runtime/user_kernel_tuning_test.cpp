#include <algorithm>

#include "irisgen/explain.hpp"
#include "irisgen/tuning.hpp"
#include "irisgen/tuning_space.hpp"
#include "runtime/verify/search.hpp"
#include "tests/runtime/user_kernel_samples.hpp"

/// Lists in a user's constants: each combination is tried, and a table keeps the best for this source and description.
namespace iris::test::user_kernel_tuning_test {
namespace {

/// Wrong where steps are 8.
constexpr const char* stepped = R"(#include <iris/device/partition.hpp>
using namespace iris::device;
template <typename Config>
__device__ void f(const Context&, f32* output, i64 n) {
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size)
    output[i] = Config::steps == 8 ? -1 : i * Config::width / Config::width;
}
)";

constexpr const char* lists =
    "    constants: {steps: [4, 8, 16], width: [2, 3]}\n    config: {timeout_ms: 9000}\n    tune: {threads: [64]}\n"
    "    reference: {source: r.cpp, function: r}\n";

/// Verifies on the CPU, and has times for combinations: the larger the numbers the faster.
class HostBench : public CandidateBench {
 public:
  std::vector<std::string> verify(Candidates candidates) override {
    std::vector<std::string> problems;
    for (const irisgen::TuningCandidate* candidate : candidates) {
      const irisgen::Plan& plan = candidate->plan;
      const bool passed = run_operation(build_operation(plan), {.reference = reference_of(plan)}).passed;
      problems.emplace_back(passed ? "" : "wrong");
    }
    return problems;
  }
  std::vector<Timing> time(Candidates candidates, int) override {
    std::vector<Timing> timings;
    for (const irisgen::TuningCandidate* candidate : candidates) {
      const irisgen::KernelPlan& kernel = candidate->plan.kernels[0];
      timings.push_back({.time_us = 100.0 / static_cast<double>(kernel.number("steps") * kernel.number("width"))});
    }
    return timings;
  }
};

class UserTuning : public UserKernel {
 protected:
  void SetUp() override {
    UserKernel::SetUp();
    if (IsSkipped()) return;
    write("k.hip", stepped);
    write("r.cpp",
          "void r(double* const* output, long long n) {\n"
          "  for (int r = 0; r < 3; ++r) for (long long i = 0; i < n; ++i) output[r][i] = i;\n}\n");
  }

  irisgen::Plan plan_with(const irisgen::TuningTable& table, const std::string& text) const {
    const irisgen::Spec read = spec(text);
    return irisgen::make_plan(read.kernels.at(0), 3, *irisgen::find_target("host"), {.tuning = {&table, 1}});
  }
  /// Of steps and width, on the CPU.
  irisgen::TuningTable table_for(const std::string& text) const {
    const irisgen::Plan untuned = plan(text);
    irisgen::TuningTable table;
    table.set({.problem = untuned.problem,
               .target = "host",
               .device = "a CPU",
               .driver = "a driver",
               .variant = "source",
               .config = {{"threads", {.value = 64}}},
               .constants = {{"steps", {.value = 16}}, {"width", {.value = 3}}},
               .spec_hash = untuned.spec_hash,
               .time_us = 5.5,
               .untuned_us = 6,
               .measured = 7});
    return irisgen::parse_tuning("table.json", irisgen::to_json(table));
  }
  static std::int64_t steps_of(const irisgen::Plan& plan) { return plan.kernels.at(0).number("steps"); }
};

TEST_F(UserTuning, takes_the_first_of_a_list_without_a_table) {
  const irisgen::Plan planned = plan(description(lists));
  EXPECT_EQ(steps_of(planned), 4);
  EXPECT_NE(irisgen::explain(planned).find("the first of 4, 8, 16; no tuning table has measured them"),
            std::string::npos)
      << irisgen::explain(planned);
  EXPECT_TRUE(run(planned).passed);
}

TEST_F(UserTuning, tries_every_combination_and_takes_the_fastest_that_is_right) {
  const irisgen::Spec read = spec(description(lists));
  const auto candidates = irisgen::tuning_candidates(read.kernels.at(0), 3, *irisgen::find_target("host"));
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> threads;
  for (const irisgen::TuningCandidate& candidate : candidates) {
    const irisgen::KernelPlan& kernel = candidate.plan.kernels[0];
    threads[{kernel.number("steps"), kernel.number("width")}].push_back(kernel.number("threads"));
  }
  EXPECT_EQ(threads.size(), 6u);
  for (const auto& [constants, those] : threads) {
    ASSERT_EQ(those.size(), 2u) << constants.first;
    EXPECT_EQ(those[1], 64) << "as tune: has it, behind the Plan's own";
  }
  HostBench bench;
  TunedProblem problem;
  search(candidates, bench, {}, problem);
  ASSERT_GE(problem.best, 0);
  const TriedCandidate& best = problem.candidates.at(static_cast<std::size_t>(problem.best));
  EXPECT_EQ(best.constants.at("steps").value, 16);
  EXPECT_EQ(best.constants.at("width").value, 3);
  for (const TriedCandidate& tried : problem.candidates) {
    const bool is_wrong = tried.constants.at("steps").value == 8;
    EXPECT_EQ(tried.why == "wrong", is_wrong && tried.config.empty()) << tried.why;
  }
}

TEST_F(UserTuning, takes_what_a_table_has_measured_and_says_so) {
  const irisgen::TuningTable table = table_for(description(lists));
  const irisgen::Plan tuned = plan_with(table, description(lists));
  EXPECT_EQ(steps_of(tuned), 16);
  EXPECT_EQ(tuned.kernels.at(0).number("width"), 3);
  EXPECT_EQ(tuned.kernels.at(0).number("threads"), 64);
  EXPECT_EQ(tuned.choices.at(0).reason, "f of k.hip, tuned: measured 5.5 µs at n = 12 on a CPU, a driver");
  const auto& constants = tuned.kernels.at(0).constants;
  EXPECT_EQ(std::ranges::find(constants, "steps", &irisgen::Constant::name)->reason, "measured to be best");
  EXPECT_TRUE(run(tuned).passed);
}

TEST_F(UserTuning, is_of_its_own_source_and_description_alone) {
  const irisgen::TuningTable table = table_for(description(lists));
  const auto steps = [&](const std::string& text) { return steps_of(plan_with(table, text)); };
  EXPECT_EQ(steps(description(lists)), 16);
  EXPECT_EQ(steps(description(std::string(lists) + "    shape: {n: 13}\n")), 4);
  std::string others = lists;
  others.replace(others.find("8, 16"), 5, "16, 8");
  EXPECT_EQ(steps(description(others)), 4);
  others = lists;
  others.insert(others.find("timeout_ms"), "threads: 32, ");
  others.erase(others.find("    tune: {threads: [64]}\n"), 26);
  EXPECT_EQ(steps(description(others)), 4) << "whose config is set";
  write("k.hip", std::string(stepped) + "// more\n");
  EXPECT_EQ(steps(description(lists)), 4);
}

TEST_F(UserTuning, keeps_one_entry_for_each_kernel) {
  irisgen::TuningTable table = table_for(description(lists));
  irisgen::TuningEntry other = table.entries.at(0);
  table.set(other);
  EXPECT_EQ(table.entries.size(), 1u);
  other.spec_hash[0] = other.spec_hash[0] == '0' ? '1' : '0';
  table.set(other);
  EXPECT_EQ(table.entries.size(), 2u);
  other.spec_hash.clear();
  table.set(other);
  EXPECT_THROW(irisgen::parse_tuning("table.json", irisgen::to_json(table)), irisgen::SpecError);
}

TEST_F(UserTuning, whose_list_is_wrong_is_told_where) {
  const auto expect = [&](const std::string& more, const std::string& words) {
    std::string problem = "no error";
    try {
      plan(description(more));
    } catch (const irisgen::SpecError& error) {
      problem = error.what();
    }
    EXPECT_NE(problem.find(words), std::string::npos) << problem;
  };
  expect("    constants: {steps: [1, 2], width: 1}\n    arguments: {output: {shape: [steps * n]}}\n",
         "spec.yaml:11:34: error: for host: not a dimension: 'steps' is a list in constants");
  expect("    constants: {steps: []}\n", "spec.yaml:10:24: error: ");
  expect("    constants: {steps: [4, x]}\n", "spec.yaml:10:28: error: ");
  std::string many = "1";
  for (int i = 2; i <= 17; ++i) many += ", " + std::to_string(i);
  expect("    constants: {steps: [" + many + "], width: [" + many + "]}\n",
         "the lists of constants have more than 256 combinations");
}

}  // namespace
}  // namespace iris::test::user_kernel_tuning_test
