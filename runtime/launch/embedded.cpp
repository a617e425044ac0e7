#include "iris/embedded.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace iris {
namespace {

std::string describe(int world, std::string_view target) {
  return std::to_string(world) + (world == 1 ? " rank on " : " ranks on ") + std::string(target);
}

BuiltOperation unpack(Manifest manifest, const EmbeddedOperation& embedded) {
  BuiltOperation built;
  for (const std::span<const unsigned char> code : embedded.code) {
    const auto bytes = std::as_bytes(code);
    built.code.push_back({.target = manifest.target,
                          .compiler = std::string(embedded.compiler),
                          .bytes = {bytes.begin(), bytes.end()},
                          .resources = {}});
  }
  built.manifest = std::move(manifest);
  return built;
}

}  // namespace

BuiltOperation find_embedded(std::span<const EmbeddedOperation> builds, int world, std::string_view target) {
  std::string name = "this kernel";
  std::string present;
  for (const EmbeddedOperation& build : builds) {
    Manifest manifest = parse_manifest(build.manifest);
    const int built_world = manifest.problem.world;
    if (built_world == world && manifest.target == target) return unpack(std::move(manifest), build);
    name = "kernel '" + manifest.name + "'";
    present += (present.empty() ? "" : ", ") + describe(built_world, manifest.target);
  }
  throw std::runtime_error(name + " is not built into this program for " + describe(world, target) +
                           "; built are: " + (present.empty() ? "none" : present) +
                           ". Add the world to its description, or the target to irisgen_generate's TARGETS");
}

}  // namespace iris
