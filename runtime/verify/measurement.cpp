#include "runtime/verify/measurement.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "iris/bench.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/world/group.hpp"
#include "runtime/world/heap.hpp"
#include "runtime/world/packing.hpp"

namespace iris {

std::vector<irisgen::KernelSpec> kernels_to_measure(const irisgen::KernelSpec& kernel, int world,
                                                    const std::vector<std::int64_t>& sizes) {
  if (sizes.empty() && !kernel.problem.is_static())
    throw std::invalid_argument("the shape of " + kernel.name +
                                " is dynamic; give what to measure (--extent, or --sizes of a collective)");
  if (sizes.empty()) return {kernel};
  std::vector<irisgen::KernelSpec> kernels;
  kernels.reserve(sizes.size());
  for (const std::int64_t bytes : sizes) kernels.push_back(at_size(kernel, world, bytes));
  return kernels;
}

Measured build_measured(irisgen::Plan plan, std::string_view compiler) {
  BuiltOperation built = build_operation(plan, compiler);
  Extents extents = plan.problem.static_extents();
  return {.plan = std::move(plan), .built = std::move(built), .extents = std::move(extents)};
}

std::size_t heap_bytes_of(const Measured& measured) {
  const OperationLayout layout = layout_of(measured.built.manifest, measured.extents);
  return static_cast<std::size_t>(layout.total_bytes) + Heap::alignment;
}

std::unique_ptr<World> open_world(const WorldOptions& options, bool processes, const std::string& kernel) {
  std::unique_ptr<World> world(processes ? new World(World::join(options)) : new World(options));
  if (world->size() != options.size) {
    throw std::runtime_error(kernel + " was made for " + std::to_string(options.size) + " ranks, but there are " +
                             std::to_string(world->size()) + " processes");
  }
  if (!processes) return world;
  // Each makes its data, and so do the others, which expect results of it.
  const CollectiveCall data{.call = kernel + " with seed " + std::to_string(options.seed), .state = {}};
  world->run([&](Context& context) { context.state().context.collectives.all_gather(data, ""); });
  return world;
}

WorldDevices devices_of(World& ranks) {
  WorldDevices devices;
  std::mutex mutex;  // of what every rank of this process writes alike
  ranks.run([&](Context& context) {
    const Context::State& rank = context.state().context;
    const std::vector<std::string> all =
        rank.collectives.all_gather({.call = "the devices of ranks", .state = {}},
                                    pack({rank.device.description(), std::to_string(rank.ranks_on_device)}));
    const std::lock_guard lock(mutex);
    devices.description = unpack(all.front(), 2)[0];
    for (const std::string& said : all)
      devices.most_ranks = std::max(devices.most_ranks, std::stoi(unpack(said, 2)[1]));
  });
  return devices;
}

}  // namespace iris
