#include "generator/cli/options.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"

namespace irisgen::cli {

const Target& target_named(const std::string& name) {
  if (const Target* target = find_target(name)) return *target;
  std::vector<std::string_view> names;
  for (const Target& target : targets()) names.push_back(target.name);
  throw UsageError("unknown target '" + name + "'" + suggestion(name, names));
}

std::vector<const Target*> targets_named(const std::vector<std::string>& names) {
  std::vector<const Target*> chosen;
  for (const std::string& name : names) {
    const Target* target = &target_named(name);
    if (std::find(chosen.begin(), chosen.end(), target) == chosen.end()) chosen.push_back(target);
  }
  if (names.empty()) {
    for (const Target& target : targets()) chosen.push_back(&target);
  }
  return chosen;
}

Spec load_spec(const std::string& path) {
  try {
    return read_spec(path);
  } catch (const SpecError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
}

std::vector<const KernelSpec*> kernels_named(const Spec& spec, const std::string& name) {
  std::vector<const KernelSpec*> kernels;
  std::vector<std::string_view> names;
  for (const KernelSpec& kernel : spec.kernels) {
    names.push_back(kernel.name);
    if (name.empty() || kernel.name == name) kernels.push_back(&kernel);
  }
  if (kernels.empty()) {
    throw UsageError(spec.file + " has no kernel '" + name + "'" + suggestion(name, names));
  }
  return kernels;
}

const KernelSpec& kernel_named(const Spec& spec, const std::string& name) {
  const auto kernels = kernels_named(spec, name);
  if (kernels.size() == 1) return *kernels.front();
  std::vector<std::string> names;
  for (const KernelSpec* kernel : kernels) names.push_back(kernel->name);
  throw UsageError(spec.file + " has several kernels; choose one with --kernel: " + join(names));
}

int world_of(const KernelSpec& kernel, int wanted) {
  if (wanted == 0) return *std::max_element(kernel.worlds.begin(), kernel.worlds.end());
  if (std::find(kernel.worlds.begin(), kernel.worlds.end(), wanted) != kernel.worlds.end()) return wanted;
  std::vector<std::string> worlds;
  for (const int world : kernel.worlds) worlds.push_back(std::to_string(world));
  throw UsageError("kernel '" + kernel.name + "' is not described for a world of " + std::to_string(wanted) +
                   " (its `world:` says " + join(worlds) + ")");
}

}  // namespace irisgen::cli
