// The search for the fastest candidate, on times and verdicts that are planted.
#include "runtime/verify/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace iris::search_test {
namespace {

using irisgen::TuningCandidate;

/// Two variants, `slow` and `fast`, with configurations 1 to 6 besides their own choices, and `hopeless`.
std::vector<TuningCandidate> candidates_predicted(double slow_us, double fast_us, double hopeless_us) {
  std::vector<TuningCandidate> all;
  for (const auto& [variant, us] : {std::pair("slow", slow_us), {"fast", fast_us}, {"hopeless", hopeless_us}}) {
    for (int blocks = 0; blocks <= 6; ++blocks) {
      TuningCandidate candidate{.variant = variant};
      if (blocks > 0) candidate.config["blocks"] = {.value = blocks};
      candidate.plan.prediction.time_us = us;
      all.push_back(std::move(candidate));
    }
  }
  return all;
}

std::string name_of(const TuningCandidate& candidate) {
  return candidate.variant + (candidate.config.empty() ? "" : std::to_string(candidate.config.at("blocks").value));
}

/// Says of each candidate what was planted, and notes who was asked.
class PlantedBench : public CandidateBench {
 public:
  std::map<std::string, double> times;               ///< 10 where nothing is planted
  std::map<std::string, std::string> verdicts;       ///< right where nothing is planted
  std::map<std::string, std::string> failures;       ///< of timing
  std::map<std::string, std::string> late_failures;  ///< of timing again
  std::vector<std::string> verified;
  std::map<std::string, std::vector<int>> timed;  ///< batches of each time

  std::vector<std::string> verify(Candidates candidates) override {
    std::vector<std::string> found;
    for (const TuningCandidate* candidate : candidates) {
      verified.push_back(name_of(*candidate));
      found.push_back(verdicts[name_of(*candidate)]);
    }
    return found;
  }
  std::vector<Timing> time(Candidates candidates, int batches) override {
    std::vector<Timing> timings;
    for (const TuningCandidate* candidate : candidates) {
      const std::string name = name_of(*candidate);
      EXPECT_NE(std::ranges::find(verified, name), verified.end()) << name << " is timed before it is verified";
      timed[name].push_back(batches);
      if (failures.contains(name)) {
        timings.push_back({.why = failures[name]});
      } else if (timed[name].size() > 1 && late_failures.contains(name)) {
        timings.push_back({.why = late_failures[name]});
      } else {
        timings.push_back({.time_us = times.contains(name) ? times[name] : 10});
      }
    }
    return timings;
  }
};

std::string best_of(const TunedProblem& problem) {
  if (problem.best < 0) return "none";
  const TriedCandidate& best = problem.candidates.at(static_cast<std::size_t>(problem.best));
  return best.variant + (best.config.empty() ? "" : std::to_string(best.config.at("blocks").value));
}

TunedProblem searched(PlantedBench& bench, SearchOptions options = {},
                      const std::vector<TuningCandidate>& candidates = candidates_predicted(10, 12, 100)) {
  TunedProblem problem;
  search(candidates, bench, options, problem);
  EXPECT_EQ(problem.candidates.size(), candidates.size());
  return problem;
}

const TriedCandidate& tried(const TunedProblem& problem, const std::string& name) {
  return *std::ranges::find_if(problem.candidates, [&](const TriedCandidate& each) {
    return name == each.variant + (each.config.empty() ? "" : std::to_string(each.config.at("blocks").value));
  });
}

TEST(Search, FindsTheFastestConfiguration) {
  PlantedBench bench;
  bench.times = {{"fast", 9}, {"fast5", 4}};
  EXPECT_EQ(best_of(searched(bench)), "fast5");
}

TEST(Search, LeavesOutWhatIsPredictedToBeHopeless) {
  PlantedBench bench;
  bench.times = {{"hopeless", 1}};
  const TunedProblem problem = searched(bench);
  EXPECT_FALSE(bench.timed.contains("hopeless"));
  EXPECT_EQ(tried(problem, "hopeless").why, "predicted to take 10.0 times the fastest");
  EXPECT_EQ(tried(problem, "hopeless3").why, "the variant's own choice was not measured");
  EXPECT_TRUE(problem.complete) << "nothing was left out for want of time";
}

TEST(Search, TriesConfigurationsOfVariantsThatAreNearTheFastest) {
  PlantedBench bench;
  bench.times = {{"slow", 20}, {"fast", 10}, {"slow1", 1}};
  const TunedProblem problem = searched(bench);
  EXPECT_FALSE(bench.timed.contains("slow1"));
  EXPECT_EQ(tried(problem, "slow1").why, "the variant's own choice took 2.0 times the fastest");
  EXPECT_TRUE(bench.timed.contains("fast6"));
}

TEST(Search, NeverTakesWhatIsWrong) {
  PlantedBench bench;
  bench.times = {{"fast2", 1}, {"fast3", 5}};
  bench.verdicts = {{"fast2", "wrong: 3 of 100 elements"}};
  const TunedProblem problem = searched(bench);
  EXPECT_EQ(best_of(problem), "fast3");
  EXPECT_FALSE(bench.timed.contains("fast2"));
  EXPECT_TRUE(tried(problem, "fast2").failed);
  EXPECT_EQ(tried(problem, "fast2").why, "wrong: 3 of 100 elements");
}

TEST(Search, NeverTakesWhatCannotBeTimed) {
  PlantedBench bench;
  bench.failures = {{"slow", "out of memory"}};
  const TunedProblem problem = searched(bench);
  EXPECT_EQ(tried(problem, "slow").why, "out of memory");
  EXPECT_TRUE(tried(problem, "slow").failed);
  EXPECT_TRUE(best_of(problem).starts_with("fast"));
}

TEST(Search, NeverTakesWhatFailsInTheLastRound) {
  for (const char* failing : {"fast5", "slow"}) {
    PlantedBench bench;
    bench.times = {{"fast5", 4}, {"fast4", 6}};
    bench.late_failures = {{failing, "out of memory"}};
    const TunedProblem problem = searched(bench, {.batches = 9});
    EXPECT_EQ(best_of(problem), std::string(failing) == "fast5" ? "fast4" : "fast5");
    EXPECT_TRUE(tried(problem, failing).failed);
  }
}

TEST(Search, FindsNoneWhereAllAreWrong) {
  PlantedBench bench;
  bench.verdicts = {{"slow", "wrong"}, {"fast", "wrong"}};
  const TunedProblem problem = searched(bench);
  EXPECT_EQ(problem.best, -1);
  EXPECT_EQ(problem.count_measured(), 0);
}

TEST(Search, MeasuresTheFewFastestAgainBesideTheUntunedChoice) {
  PlantedBench bench;
  bench.times = {{"fast1", 5}, {"fast2", 6}, {"fast3", 7}, {"slow", 9}};
  searched(bench, {.batches = 21});
  for (const char* name : {"fast1", "fast2", "fast3", "slow"}) {
    EXPECT_EQ(bench.timed[name], (std::vector<int>{3, 21})) << name;
  }
  EXPECT_EQ(bench.timed["fast4"], (std::vector<int>{3}));
}

TEST(Search, KeepsTheUntunedChoiceWhereLittleIsGained) {
  PlantedBench bench;
  bench.times = {{"slow", 10}, {"fast4", 9.95}};
  EXPECT_EQ(best_of(searched(bench)), "slow");
  bench = {};
  bench.times = {{"slow", 10}, {"fast4", 9.8}};
  EXPECT_EQ(best_of(searched(bench)), "fast4");
}

TEST(Search, EndsWhenTheTimeIsOver) {
  PlantedBench bench;
  bench.times = {{"fast6", 1}};
  int asked = 0;
  const TunedProblem problem = searched(bench, {.batches = 9, .out_of_time = [&] { return ++asked > 2; }});
  EXPECT_FALSE(problem.complete);
  EXPECT_EQ(problem.count_measured(), 6) << "two own choices, and one group of configurations";
  EXPECT_EQ(tried(problem, "fast6").why, "no time was left");
  EXPECT_NE(problem.best, -1) << "the best so far";
}

TEST(Search, TellsWhatItDoes) {
  PlantedBench bench;
  std::vector<std::string> said;
  searched(bench, {.batches = 9, .out_of_time = {}, .progress = [&](std::string_view doing, int count) {
                     said.push_back(std::string(doing) + " " + std::to_string(count));
                   }});
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.front(), "own choices of variants 2");
  EXPECT_EQ(said.back(), "the fastest again 3");
}

TEST(TunedProblem, KnowsTheFastestOfEachVariant) {
  const TunedProblem problem = {.candidates = {{.variant = "ring", .time_us = 5},
                                               {.variant = "ring", .time_us = 4},
                                               {.variant = "ring", .time_us = 6},
                                               {.variant = "direct", .time_us = 9},
                                               {.variant = "direct", .time_us = 1, .failed = true},
                                               {.variant = "chain", .why = "no time was left"}}};
  EXPECT_EQ(problem.fastest_of_variants(), (std::map<std::string, double>{{"direct", 9}, {"ring", 4}}));
}

}  // namespace
}  // namespace iris::search_test
