#include "iris/embedded.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace iris {
namespace {

std::string describe(int world, std::string_view target) {
  return std::to_string(world) + (world == 1 ? " rank on " : " ranks on ") + std::string(target);
}

BuiltKernel unpack(irisgen::Manifest manifest, const EmbeddedKernel& embedded) {
  const auto bytes = std::as_bytes(embedded.code);
  CodeObject code{.target = manifest.target,
                  .compiler = std::string(embedded.compiler),
                  .bytes = {bytes.begin(), bytes.end()},
                  .resources = {}};
  return {.manifest = std::move(manifest), .code = std::move(code)};
}

}  // namespace

BuiltKernel find_embedded(std::span<const EmbeddedKernel> builds, int world, std::string_view target) {
  std::string name = "this kernel";
  std::string present;
  for (const EmbeddedKernel& build : builds) {
    irisgen::Manifest manifest = irisgen::parse_manifest(build.manifest);
    if (manifest.world == world && manifest.target == target) return unpack(std::move(manifest), build);
    name = "kernel '" + manifest.name + "'";
    present += (present.empty() ? "" : ", ") + describe(manifest.world, manifest.target);
  }
  throw std::runtime_error(name + " is not built into this program for " + describe(world, target) +
                           "; built are: " + (present.empty() ? "none" : present) +
                           ". Add the world to its description, or the target to irisgen_generate's TARGETS");
}

}  // namespace iris
