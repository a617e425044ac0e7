#include "iris/device/abi.hpp"
#include "irisgen/source.hpp"

namespace irisgen {

iris::Manifest make_manifest(const Plan& plan, const std::vector<Source>& sources) {
  iris::Manifest manifest;
  manifest.abi = iris::device::abi_version;
  manifest.name = plan.name;
  manifest.target = plan.target->name;
  manifest.spec_hash = plan.spec_hash;
  manifest.variant = plan.variant;
  manifest.problem = plan.problem;
  manifest.timeout_ms = plan.timeout_ms;
  manifest.in_place = plan.in_place;
  manifest.arguments = plan.arguments;
  manifest.scalars = plan.scalars;
  manifest.intermediates = plan.intermediates;
  manifest.schedules = plan.schedules;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const KernelPlan& kernel = plan.kernels[i];
    manifest.kernels.push_back({.part = kernel.part,
                                .symbol = kernel.symbol,
                                .source_hash = sources.at(i).hash,
                                .blocks = static_cast<int>(kernel.number("blocks")),
                                .threads = static_cast<int>(kernel.number("threads")),
                                .waits = kernel.waits,
                                .waits_for_ranks = kernel.waits_for_ranks,
                                .dependent_launch = kernel.dependent_launch,
                                .lets_next_begin = kernel.lets_next_begin,
                                .flags = kernel.flags,
                                .workspace = kernel.workspace});
  }
  return manifest;
}

}  // namespace irisgen
