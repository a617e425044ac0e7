#include "iris/embedded.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>

#include "iris/device/abi.hpp"

namespace iris::embedded_test {
namespace {

std::string manifest_json(int world, const std::string& target) {
  Manifest manifest;
  manifest.abi = device::abi_version;
  manifest.name = "gradient_sum";
  manifest.target = target;
  manifest.spec_hash = std::string(64, 'a');
  manifest.variant = "ring";
  manifest.problem = {.pattern = "all_reduce", .world = world};
  manifest.kernels = {{.symbol = "gradient_sum_entry", .source_hash = std::string(64, 'b')}};
  manifest.schedules = {{.up_to = every_size, .steps = {}}};
  return to_json(manifest);
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
using Code = std::array<std::span<const unsigned char>, 1>;
constexpr Code first = {first_code};
constexpr Code second = {second_code};

TEST(FindEmbedded, PicksByWorldAndTarget) {
  const std::string on_host = manifest_json(2, "host");
  const std::string on_gpu = manifest_json(2, "gfx942");
  const EmbeddedOperation builds[] = {{on_host, first, "clang 22"}, {on_gpu, second, "hiprtc 5.2"}};
  const BuiltOperation host = find_embedded(builds, 2, "host");
  EXPECT_EQ(host.manifest.target, "host");
  EXPECT_EQ(host.code.at(0).target, "host");
  EXPECT_EQ(host.code[0].compiler, "clang 22");
  EXPECT_EQ(host.code[0].bytes, (std::vector<std::byte>{std::byte{0x7f}, std::byte{0}, std::byte{0xff}}));
  EXPECT_EQ(find_embedded(builds, 2, "gfx942").code.at(0).bytes.size(), 2u);
}

TEST(FindEmbedded, BringsTheCodeOfEveryKernel) {
  const std::string manifest = manifest_json(2, "host");
  constexpr std::array<std::span<const unsigned char>, 2> both = {first_code, second_code};
  const EmbeddedOperation builds[] = {{manifest, both, "clang 22"}};
  const BuiltOperation built = find_embedded(builds, 2, "host");
  ASSERT_EQ(built.code.size(), 2u);
  EXPECT_EQ(built.code[1].bytes, (std::vector<std::byte>{std::byte{1}, std::byte{2}}));
}

TEST(FindEmbedded, NamesWhatIsBuiltWhereNothingFits) {
  const std::string one = manifest_json(1, "host");
  const std::string eight = manifest_json(8, "gfx942");
  const EmbeddedOperation builds[] = {{one, first, ""}, {eight, second, ""}};
  EXPECT_EQ(message_of([&] { find_embedded(builds, 4, "sm_90a"); }),
            "kernel 'gradient_sum' is not built into this program for 4 ranks on sm_90a; built are: 1 rank on host, "
            "8 ranks on gfx942. Add the world to its description, or the target to irisgen_generate's TARGETS");
  EXPECT_NE(message_of([&] { find_embedded({}, 1, "host"); }).find("built are: none"), std::string::npos);
}

TEST(FindEmbedded, RefusesAManifestThatItCannotRead) {
  const EmbeddedOperation builds[] = {{"{\"abi\": 0}", first, ""}};
  EXPECT_NE(message_of([&] { find_embedded(builds, 1, "host"); }).find("generate the kernel again"), std::string::npos);
}

}  // namespace
}  // namespace iris::embedded_test
