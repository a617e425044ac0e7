#include "runtime/verify/measurement.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "iris/bench.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/world/heap.hpp"

namespace iris {

std::vector<irisgen::KernelSpec> kernels_to_measure(const irisgen::KernelSpec& kernel, int world,
                                                    const std::vector<std::int64_t>& sizes) {
  if (sizes.empty() && !kernel.problem.is_static())
    throw std::invalid_argument("the shape of " + kernel.name + " is dynamic; give the sizes to measure (--sizes)");
  if (sizes.empty()) return {kernel};
  std::vector<irisgen::KernelSpec> kernels;
  kernels.reserve(sizes.size());
  for (const std::int64_t bytes : sizes) kernels.push_back(at_size(kernel, world, bytes));
  return kernels;
}

Measured build_measured(irisgen::Plan plan, std::string_view compiler) {
  BuiltOperation built = build_operation(plan, compiler);
  return {std::move(plan), std::move(built)};
}

std::size_t heap_bytes_of(const irisgen::Plan& plan) {
  std::size_t bytes = 0;
  for (const Argument& argument : plan.arguments) {
    bytes += static_cast<std::size_t>(bytes_of(argument, plan.problem.static_extents())) + Heap::alignment;
  }
  return bytes;
}

std::size_t heap_bytes_of(const Measured& measured) {
  const OperationLayout layout = layout_of(measured.built.manifest, measured.plan.problem.static_extents());
  return static_cast<std::size_t>(layout.total_bytes) + Heap::alignment;
}

int ranks_per_device(World& ranks) {
  std::vector<int> devices(static_cast<std::size_t>(ranks.size()));
  ranks.run([&](Context& context) { devices[static_cast<std::size_t>(context.rank())] = context.device().index(); });
  return static_cast<int>(std::ranges::count(devices, devices.front()));
}

}  // namespace iris
