// `irisgen bench --processes` and `irisgen tune --processes`, on two GPUs of a library that the tests control: events
// of the second are twice as far apart as those of the first, and every kernel sums 4096 f32 over the ranks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "irisgen/target.hpp"
#include "irisgen/tuning.hpp"
#include "tests/cli/program.hpp"

namespace irisgen::test::measuring_processes_test {
namespace {

using Json = nlohmann::json;
using Environment = std::map<std::string, std::string>;

class MeasuringProcesses : public testing::Test {
 protected:
  void SetUp() override {
    const Json machine = Json::parse(irisgen({"list", "--json"}).out);
    for (const Json& target : machine["targets"]) {
      if (target["name"] == "gfx90a" && target["compilers"].empty()) GTEST_SKIP() << "nothing compiles for gfx90a here";
    }
    write_file(folder_.file("spec.yaml"), R"(irisgen: 1
kernels:
  - {name: sum, pattern: all_reduce, dtype: f32, world: 2, shape: {n: 4096}, tune: {threads: [128, 256]}}
)");
  }

  Outcome run(std::vector<std::string> arguments, const Environment& more = {}) const {
    Environment environment = {{"IRISGEN_HIP_LIBRARY", IRISGEN_FAKE_HIP}, {"FAKE_HIP_SUMS", "4096"}};
    environment.insert(more.begin(), more.end());
    arguments.insert(arguments.end(), {"--target", "gfx90a", "--batches", "3"});
    return irisgen(arguments, {.folder = folder_.path(), .environment = environment});
  }

  /// As processes that a launcher has started, all with these words, and each with its own.
  std::vector<Outcome> launch(const std::vector<std::string>& arguments, const std::string& name,
                              const std::vector<std::vector<std::string>>& own = {{}, {}}) const {
    std::vector<Outcome> outcomes(2);
    std::vector<std::thread> ranks;
    ranks.reserve(2);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        std::vector<std::string> words = arguments;
        words.insert(words.end(), own[rank].begin(), own[rank].end());
        outcomes[rank] = run(words, {{"RANK", std::to_string(rank)},
                                     {"WORLD_SIZE", "2"},
                                     {"LOCAL_RANK", std::to_string(rank)},
                                     {"MASTER_PORT", name + std::to_string(::getpid())}});
      });
    }
    for (std::thread& rank : ranks) rank.join();
    return outcomes;
  }

  TemporaryFolder folder_;
};

TEST_F(MeasuringProcesses, BenchReportsTheSlowestRankAsThreadsDo) {
  const std::vector<std::string> bench = {"bench", "spec.yaml", "--sizes", "4K:64K", "--json"};
  std::vector<std::string> with_processes = bench;
  with_processes.emplace_back("--processes");
  const Outcome threads = run(bench);
  const Outcome processes = run(with_processes);
  ASSERT_EQ(processes.code, 0) << processes.err;
  EXPECT_EQ(processes.err, "");
  // By this machine's clock: what a call takes of the host.
  const auto without_calls = [](const std::string& out) {
    Json report = Json::parse(out)[0];
    for (Json& point : report["points"]) {
      EXPECT_GT(point["call_us"], 0);
      point.erase("call_us");
    }
    return report;
  };
  const Json report = without_calls(processes.out);
  EXPECT_EQ(report, without_calls(threads.out));
  EXPECT_EQ(report["ranks_per_device"], 1);
  ASSERT_EQ(report["points"].size(), 3);
  for (const Json& point : report["points"]) EXPECT_EQ(point["time_us"], 150) << "3 ms of 20 launches, on device 1";
}

/// One kernel serves all lengths of a dynamic shape.
TEST_F(MeasuringProcesses, BenchMeasuresADynamicShapeAtEachLength) {
  write_file(folder_.file("dynamic.yaml"), R"(irisgen: 1
kernels:
  - {name: sum, pattern: all_reduce, dtype: f32, world: 2, variant: one_shot, shape: {m: dynamic, n: dynamic}}
)");
  const Outcome outcome =
      run({"bench", "dynamic.yaml", "--extent", "n=4096,8192", "--extent", "m=1:2:2", "--cold", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out)[0];
  EXPECT_EQ(report["cold"], true);
  std::vector<Json> extents;
  for (const Json& point : report["points"]) {
    extents.push_back(point["extents"]);
    EXPECT_EQ(point["time_us"], 150);
    EXPECT_GT(point["predicted_us"], 0);
    EXPECT_EQ(point["bytes"], 4 * point["extents"]["m"].get<int>() * point["extents"]["n"].get<int>());
  }
  EXPECT_EQ(extents,
            (std::vector<Json>{
                {{"m", 1}, {"n", 4096}}, {{"m", 1}, {"n", 8192}}, {{"m", 2}, {"n", 4096}}, {{"m", 2}, {"n", 8192}}}));
}

/// Its product alone, by a kernel of its own, and what the links take for the rows that a rank sends to the other.
TEST_F(MeasuringProcesses, BenchShowsWhatLimitsAFusedKernel) {
  write_file(folder_.file("fused.yaml"), R"(irisgen: 1
kernels:
  - {name: fused, pattern: matmul_reduce_scatter, dtype: f32, world: 2, variant: fused_sequential,
     shape: {m: 256, n: 128, k: 128}}
)");
  const double link_bytes_per_us = find_target("gfx90a")->rates.link_gbs * 1000;
  const double links_us = 128 * 128 * 4 / link_bytes_per_us;
  const Outcome json = run({"bench", "fused.yaml", "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  const Json point = Json::parse(json.out)[0]["points"].at(0);
  EXPECT_EQ(point["time_us"], 150);
  EXPECT_EQ(point["product_us"], 150);
  EXPECT_DOUBLE_EQ(point["links_us"].get<double>(), links_us);
  EXPECT_EQ(point["of_limit"], 1) << "of the larger of the two";
  EXPECT_DOUBLE_EQ(point["tflops"].get<double>(), 2e-6 * 256 * 128 * 128 / 150);
  const Outcome table = run({"bench", "fused.yaml"});
  EXPECT_NE(table.out.find("100 %"), std::string::npos) << table.out;
  const Outcome csv = run({"bench", "fused.yaml", "--csv"});
  EXPECT_NE(csv.out.find(",150," + Json(links_us).dump().substr(0, 4)), std::string::npos) << csv.out;
}

TEST_F(MeasuringProcesses, BenchAsksForEveryDynamicExtent) {
  write_file(folder_.file("dynamic.yaml"), R"(irisgen: 1
kernels:
  - {name: product, pattern: matmul, dtype: f32, world: 2, shape: {m: dynamic, n: dynamic, k: 64}}
)");
  const auto refusal = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"bench", "dynamic.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(refusal({}).find("product's m is dynamic: give --extent m=NUMBER"), std::string::npos);
  EXPECT_NE(refusal({"--extent", "m=4"}).find("product's n is dynamic, too: give --extent n="), std::string::npos);
  EXPECT_NE(refusal({"--extent", "k=4"}).find("product's k is fixed"), std::string::npos);
  EXPECT_NE(refusal({"--extent", "m=4x"}).find("--extent m: cannot read the sizes '4x'"), std::string::npos);
}

/// So that nothing is lost of a run that is stopped.
TEST_F(MeasuringProcesses, BenchPrintsTheRowsOfAKernelBeforeTheNextIsMeasured) {
  write_file(folder_.file("two.yaml"), R"(irisgen: 1
kernels:
  - {name: sum, pattern: all_reduce, dtype: f32, world: 2, shape: {n: 4096}}
  - {name: too_large, pattern: matmul, dtype: f32, world: 2, shape: {m: 720896, n: 720896, k: 64}}
)");
  const Outcome outcome = run({"bench", "two.yaml", "--sizes", "4K:16K", "--csv"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 3) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("\nsum,all_reduce,f32,2,"), std::string::npos) << outcome.out;
}

/// Each process has a communicator of the vendor's library; rank 0's identifier brings them together.
TEST_F(MeasuringProcesses, BenchMeasuresTheVendorsLibrary) {
  std::filesystem::create_symlink(IRISGEN_FAKE_NCCL, folder_.file("librccl.so.1"));
  const Outcome outcome = run({"bench", "spec.yaml", "--sizes", "4K", "--json", "--processes", "--against", "rccl"},
                              {{"LD_LIBRARY_PATH", folder_.path()}});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out)[0];
  EXPECT_EQ(report["library"], "RCCL 2.28.3");
  EXPECT_EQ(report["points"][0]["library_us"], 150);
  EXPECT_EQ(report["points"][0]["library_window_us"], 150);
}

TEST_F(MeasuringProcesses, RankZeroAlonePrintsAndWrites) {
  const std::vector<Outcome> outcomes =
      launch({"bench", "spec.yaml", "--processes", "--sizes", "4K", "--csv", "--svg", "chart.svg"}, "print");
  EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].err;
  EXPECT_EQ(outcomes[1].code, 0) << outcomes[1].err;
  EXPECT_TRUE(outcomes[0].out.starts_with("kernel,")) << outcomes[0].out;
  EXPECT_EQ(outcomes[1].out + outcomes[1].err, "");
  EXPECT_TRUE(read_file(folder_.file("chart.svg")).starts_with("<svg "));
}

/// Without the words for what is wrong, which name one rank of those where it is.
Json decided(const std::string& out) {
  Json report = Json::parse(out).at(0);
  for (Json& candidate : report["problems"].at(0)["candidates"]) {
    if (candidate["failed"] == true) candidate.erase("why");
  }
  return report;
}

TEST_F(MeasuringProcesses, TuneDecidesAsThreadsDoAndRankZeroWrites) {
  const Outcome threads = run({"tune", "spec.yaml", "--json", "--table", "threads.json"});
  ASSERT_EQ(threads.code, 0) << threads.out << threads.err;
  const std::vector<Outcome> outcomes =
      launch({"tune", "spec.yaml", "--processes", "--json", "--table", "processes.json"}, "tune");
  EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].out << outcomes[0].err;
  EXPECT_EQ(outcomes[1].code, 0) << outcomes[1].err;
  EXPECT_EQ(outcomes[1].out + outcomes[1].err, "");
  EXPECT_EQ(decided(outcomes[0].out), decided(threads.out));
  EXPECT_EQ(read_file(folder_.file("processes.json")), read_file(folder_.file("threads.json")));
  const Json problem = decided(outcomes[0].out)["problems"][0];
  const Json& best = problem["candidates"][problem["best"].get<std::size_t>()];
  EXPECT_EQ(best["time_us"], 150);
}

/// What rank 0's table has is known to all, and when its time is over: the other has another table, and all day.
TEST_F(MeasuringProcesses, TuneDecidesByRankZero) {
  write_file(folder_.file("plain.yaml"), small_spec("2"));
  const Json machine = Json::parse(run({"tune", "plain.yaml", "--json", "--budget", "0s", "--table", "t.json"}).out)[0];
  TuningTable table;
  table.set({.problem = {.pattern = "all_reduce", .world = 2, .extents = {{"m", {.value = 1}}, {"n", {.value = 4096}}}},
             .target = "gfx90a",
             .device = machine["device"],
             .driver = machine["driver"],
             .variant = "ring",
             .time_us = 1,
             .untuned_us = 1,
             .measured = 1,
             .kernels = kernels_digest()});
  write_file(folder_.file("full.json"), to_json(table));
  const std::vector<Outcome> outcomes =
      launch({"tune", "plain.yaml", "--processes", "--json", "--sizes", "16K:64K"}, "decides",
             {{"--table", folder_.file("full.json"), "--budget", "0s"},
              {"--table", folder_.file("empty.json"), "--budget", "1h"}});
  EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].err;
  EXPECT_EQ(outcomes[1].code, 0) << outcomes[1].err;
  const Json report = Json::parse(outcomes[0].out).at(0);
  ASSERT_EQ(report["problems"].size(), 1) << report;
  EXPECT_EQ(report["problems"][0]["known"], true);
  EXPECT_EQ(report["complete"], false);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("empty.json")));
}

TEST_F(MeasuringProcesses, SayWhatIsWrong) {
  const Outcome calibrate = run({"bench", "--calibrate", "--processes"});
  EXPECT_EQ(calibrate.code, 2);
  EXPECT_NE(calibrate.err.find("--processes"), std::string::npos) << calibrate.err;
  const Outcome three = run({"tune", "spec.yaml", "--processes"},
                            {{"IRISGEN_JOB", "j"}, {"IRISGEN_RANK", "0"}, {"IRISGEN_WORLD_SIZE", "3"}});
  EXPECT_EQ(three.code, 2);
  EXPECT_NE(three.err.find("one of 3 processes, but no kernel is described for a world of 3"), std::string::npos)
      << three.err;
}

}  // namespace
}  // namespace irisgen::test::measuring_processes_test
