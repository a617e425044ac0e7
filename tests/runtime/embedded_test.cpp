#include "iris/embedded.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>

#include <iris/device/abi.hpp>

namespace iris {
namespace {

std::string manifest_json(int world, const std::string& target) {
  irisgen::Manifest manifest;
  manifest.abi = device::abi_version;
  manifest.name = "gradient_sum";
  manifest.symbol = "gradient_sum_entry";
  manifest.target = target;
  manifest.spec_hash = std::string(64, 'a');
  manifest.source_hash = std::string(64, 'b');
  manifest.pattern = "all_reduce";
  manifest.variant = "ring";
  manifest.world = world;
  return irisgen::to_json(manifest);
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

constexpr std::array<unsigned char, 3> first_code = {0x7f, 0x00, 0xff};
constexpr std::array<unsigned char, 2> second_code = {0x01, 0x02};

TEST(FindEmbedded, PicksByWorldAndTarget) {
  const std::string on_host = manifest_json(2, "host");
  const std::string on_gpu = manifest_json(2, "gfx942");
  const EmbeddedKernel builds[] = {{on_host, first_code, "clang 22"}, {on_gpu, second_code, "hiprtc 5.2"}};
  const BuiltKernel host = find_embedded(builds, 2, "host");
  EXPECT_EQ(host.manifest.target, "host");
  EXPECT_EQ(host.code.target, "host");
  EXPECT_EQ(host.code.compiler, "clang 22");
  EXPECT_EQ(host.code.bytes, (std::vector<std::byte>{std::byte{0x7f}, std::byte{0}, std::byte{0xff}}));
  EXPECT_EQ(find_embedded(builds, 2, "gfx942").code.bytes.size(), 2u);
}

TEST(FindEmbedded, NamesWhatIsBuiltWhereNothingFits) {
  const std::string one = manifest_json(1, "host");
  const std::string eight = manifest_json(8, "gfx942");
  const EmbeddedKernel builds[] = {{one, first_code, ""}, {eight, second_code, ""}};
  EXPECT_EQ(message_of([&] { find_embedded(builds, 4, "sm_90a"); }),
            "kernel 'gradient_sum' is not built into this program for 4 ranks on sm_90a; built are: 1 rank on host, "
            "8 ranks on gfx942. Add the world to its description, or the target to irisgen_generate's TARGETS");
  EXPECT_NE(message_of([&] { find_embedded({}, 1, "host"); }).find("built are: none"), std::string::npos);
}

TEST(FindEmbedded, RefusesAManifestThatItCannotRead) {
  const EmbeddedKernel builds[] = {{"{\"abi\": 0}", first_code, ""}};
  EXPECT_NE(message_of([&] { find_embedded(builds, 1, "host"); }).find("generate the kernel again"), std::string::npos);
}

}  // namespace
}  // namespace iris
