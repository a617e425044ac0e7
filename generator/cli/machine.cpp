#include "generator/cli/machine.hpp"

#include <algorithm>
#include <exception>

namespace irisgen::cli {
namespace {

std::string why_no_host() {
  try {
    iris::open_host_devices(1, 0);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

Machine survey_machine() {
  return {&iris::Compilers::instance(), iris::survey_gpus(), why_no_host()};
}

std::vector<std::string> compilers_of(const Machine& machine, const Target& target) {
  std::vector<std::string> names;
  for (const auto& compiler : machine.compilers->present) {
    const auto targets = compiler->targets();
    if (std::find(targets.begin(), targets.end(), target.name) != targets.end()) names.emplace_back(compiler->name());
  }
  return names;
}

int devices_of(const Machine& machine, const Target& target) {
  if (target.platform == Platform::host) return machine.host_missing.empty() ? 1 : 0;
  return static_cast<int>(std::count_if(machine.gpus.gpus.begin(), machine.gpus.gpus.end(),
                                        [&](const auto& gpu) { return gpu.target == target.name; }));
}

}  // namespace irisgen::cli
