#include "irisgen/target.hpp"

#include <gtest/gtest.h>

#include <set>

namespace irisgen {
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

TEST(Targets, OfferRatesForEveryGpuAndNoneForTheCpu) {
  for (const Target& target : targets()) {
    const bool gpu = target.platform != Platform::host;
    EXPECT_EQ(target.link_gbs > 0, gpu) << target.name;
    EXPECT_EQ(target.memory_gbs > target.link_gbs, gpu) << target.name;
    EXPECT_EQ(target.signal_us > 0, gpu) << target.name;
    EXPECT_EQ(target.launch_us > 0, gpu) << target.name;
    EXPECT_EQ(target.fma_tflops_f32 > 0, gpu) << target.name;
    EXPECT_EQ(target.compute_units > 0, gpu) << target.name;
    EXPECT_EQ(target.max_threads % target.wave, 0) << target.name;
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
}  // namespace irisgen
