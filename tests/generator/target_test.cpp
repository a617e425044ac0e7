#include "irisgen/target.hpp"

#include <gtest/gtest.h>

#include <set>

namespace irisgen::target_test {
namespace {

TEST(Targets, AreFoundByTheirName) {
  ASSERT_FALSE(targets().empty());
  for (const Target& target : targets()) EXPECT_EQ(find_target(target.name), &target);
  EXPECT_EQ(find_target("gfx999"), nullptr);
  EXPECT_EQ(find_target(""), nullptr);
  EXPECT_EQ(find_target("gfx94"), nullptr);
}

TEST(Targets, HaveOneNameEach) {
  std::set<std::string_view> names;
  for (const Target& target : targets()) EXPECT_TRUE(names.insert(target.name).second) << target.name;
}

TEST(Targets, OfferRatesThatCanBe) {
  for (const Target& target : targets()) {
    EXPECT_GT(target.rates.link_gbs, 0) << target.name;
    // Twice as many blocks push to a neighbour, which is up to a tenth faster where the links are the same.
    EXPECT_LE(target.rates.neighbour_gbs, 1.1 * target.rates.link_gbs) << target.name;
    EXPECT_GT(target.rates.memory_gbs, target.rates.link_gbs) << target.name;
    EXPECT_GT(target.rates.copy_engine_gbs, 0) << target.name;
    EXPECT_GT(target.rates.copy_us, 0) << target.name;
    EXPECT_GT(target.rates.signal_us, 0) << target.name;
    EXPECT_GT(target.rates.launch_us, 0) << target.name;
    EXPECT_GT(target.main_loop_tflops, 0) << target.name;
    EXPECT_EQ(target.matrix_tflops > target.main_loop_tflops, target.platform != Platform::host) << target.name;
    EXPECT_EQ(target.max_threads % target.wave, 0) << target.name;
    EXPECT_EQ(target.threads % target.wave, 0) << target.name;
    EXPECT_EQ(target.predicts, target.platform != Platform::host) << target.name;
  }
}

TEST(Targets, KnowThePlatformOfEachChip) {
  EXPECT_EQ(find_target("host")->platform, Platform::host);
  EXPECT_EQ(find_target("gfx90a")->platform, Platform::amd);
  EXPECT_EQ(find_target("gfx942")->platform, Platform::amd);
  EXPECT_EQ(find_target("gfx950")->platform, Platform::amd);
  EXPECT_EQ(find_target("sm_90a")->platform, Platform::nvidia);
  EXPECT_EQ(to_string(Platform::amd), "amd");
}

}  // namespace
}  // namespace irisgen::target_test
