// IRIS_LOG: what the libraries say on standard error, as far as the environment asks for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"

namespace irisgen::test::log_test {
namespace {

class Logged : public testing::Test {
 protected:
  void SetUp() override {
    const auto machine = nlohmann::json::parse(irisgen({"list", "--json"}).out);
    for (const auto& target : machine["targets"]) {
      if (target["name"] == "host" && (target["compilers"].empty() || target["devices"] == 0)) {
        GTEST_SKIP() << "kernels do not run on the CPU here: see irisgen doctor";
      }
    }
    write_file(folder_.file("spec.yaml"), small_spec("2"));
  }

  Outcome run(const std::string& level, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", "spec.yaml", "--json"});
    return irisgen(more, {.folder = folder_.path(), .environment = {{"IRIS_LOG", level}}});
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
  static int count(const std::string& text, const std::string& part) {
    return static_cast<int>(std::ranges::count_if(
        lines_of(text), [&](const std::string& line) { return line.find(part) != std::string::npos; }));
  }

  TemporaryFolder folder_;
};

TEST_F(Logged, OffIsSilent) {
  for (const char* level : {"", "off", "error"}) {
    const Outcome outcome = run(level);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err, "") << level;
  }
}

TEST_F(Logged, InfoTellsWhatWasChosenBuiltAndLoaded) {
  ASSERT_EQ(run("").code, 0);  // it is in the cache from here on
  const Outcome outcome = run("info");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(count(outcome.err, "[iris] info: plan of small for 2 ranks on host; variant "), 1) << outcome.err;
  EXPECT_EQ(count(outcome.err, " for host: from the cache in "), 1) << outcome.err;
  EXPECT_EQ(count(outcome.err, "[iris] info: a world of 2 ranks on host"), 1) << outcome.err;
  EXPECT_EQ(count(outcome.err, "[iris] [0/2] info: loaded small: "), 1) << outcome.err;
  EXPECT_EQ(count(outcome.err, "[iris] [1/2] info: loaded small: "), 1) << outcome.err;
  EXPECT_EQ(lines_of(outcome.err).size(), 5U) << outcome.err;
  EXPECT_TRUE(nlohmann::json::accept(outcome.out)) << "nothing of it on standard output";
}

TEST_F(Logged, AllProcessesSpeak) {
  const Outcome outcome = run("info", {"--processes"});
  EXPECT_EQ(outcome.code, 0);
  for (const std::string rank : {"[0/2]", "[1/2]"}) {
    EXPECT_EQ(count(outcome.err, "[iris] " + rank + " info: a world of 2 ranks on host"), 1) << outcome.err;
    EXPECT_EQ(count(outcome.err, "[iris] " + rank + " info: loaded small: "), 1) << outcome.err;
  }
}

TEST_F(Logged, AWrongLevelIsToldOnce) {
  const Outcome outcome = run("loud");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "[iris] warning: IRIS_LOG is 'loud'; write debug, info, warning, error or off\n");
}

}  // namespace
}  // namespace irisgen::test::log_test
