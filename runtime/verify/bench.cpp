#include "iris/bench.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "iris/world.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/plan.hpp"
#include "runtime/verify/library_bench.hpp"
#include "runtime/verify/measurement.hpp"

namespace iris {
namespace {
using irisgen::KernelSpec;
using irisgen::Plan;

/// What stands in one line of a report: a kernel and, if it is fused, its product alone.
struct Pair {
  Measured kernel;
  std::optional<Measured> product;
};

std::size_t heap_bytes_of(const Pair& pair) {
  const auto both = [](const Measured& measured) {
    return iris::heap_bytes_of(measured.plan) + iris::heap_bytes_of(measured);
  };
  return both(pair.kernel) + (pair.product ? both(*pair.product) : 0);
}

Measured build(const KernelSpec& kernel, int world, const irisgen::Target& target, const BenchOptions& options) {
  return build_measured(irisgen::make_plan(kernel, world, target, options.plan), options.compiler);
}

Pair build_pair(const KernelSpec& kernel, int world, const irisgen::Target& target, const BenchOptions& options) {
  Pair pair = {.kernel = build(kernel, world, target, options), .product = std::nullopt};
  const Problem& problem = pair.kernel.plan.problem;
  const irisgen::Pattern& pattern = irisgen::pattern_of(problem);
  if (pattern.product == nullptr || pattern.product(problem) == problem) return pair;
  KernelSpec product;
  product.name = kernel.name + "_product";
  product.problem = pattern.product(problem);
  pair.product = build(product, world, target, options);
  return pair;
}

struct Readings {
  Times kernel;
  Times product;
  double call_us = 0;
};

/// The batches of a fused kernel and those of its product take turns, so that the chip is as warm for one as for the
/// other.
Readings measure_on_rank(Context& context, const Pair& pair, const BenchOptions& options, bool as_graphs) {
  const BenchBuffers buffers(context, pair.kernel.plan, options.seed);
  Measurement kernel(context, pair.kernel, buffers, as_graphs);
  std::optional<BenchBuffers> product_buffers;
  std::optional<Measurement> product;
  if (pair.product) {
    product_buffers.emplace(context, pair.product->plan, options.seed);
    product.emplace(context, *pair.product, *product_buffers, as_graphs);
  }
  kernel.batches().warm_up(options.launches);
  if (product) product->batches().warm_up(options.launches);
  for (int batch = 0; batch < options.batches; ++batch) {
    kernel.batches().time();
    if (product) product->batches().time();
  }
  Readings readings{.kernel = kernel.batches().gather(), .product = {}};
  // A copy of ranks that share a GPU waits for what stands before it, which is no call's cost.
  if (as_graphs) readings.call_us = kernel.batches().call_us();
  if (product) readings.product = product->batches().gather();
  return readings;
}

BenchPoint make_point(const Pair& pair, int world, const irisgen::Target& target, const Readings& readings) {
  const Measured& measured = pair.kernel;
  const std::vector<double> slowest_rank = sorted_times(readings.kernel);
  const Plan& plan = measured.plan;
  const irisgen::Pattern& pattern = irisgen::pattern_of(plan.problem);
  BenchPoint point;
  point.extents = plan.problem.static_extents();
  point.bytes = irisgen::bus_size(plan.problem);
  point.variant = plan.variant;
  for (const KernelEntry& kernel : measured.built.manifest.kernels) {
    point.grids +=
        (point.grids.empty() ? "" : ", ") + std::to_string(kernel.blocks) + " x " + std::to_string(kernel.threads);
  }
  point.predicted_us = plan.prediction.time_us;
  point.time_us = median(slowest_rank);
  point.fastest_us = slowest_rank.front();
  point.slowest_us = slowest_rank.back();
  point.call_us = readings.call_us;
  const double bytes_per_gbs = point.time_us * 1000;  // 10⁹ bytes per second are 1000 bytes per microsecond
  point.algorithm_gbs = static_cast<double>(point.bytes) / bytes_per_gbs;
  point.bus_gbs = pattern.bus == nullptr ? 0 : point.algorithm_gbs * pattern.bus->bus_over_algorithm(world);
  point.link_gbs = static_cast<double>(plan.prediction.link_bytes) / bytes_per_gbs;
  point.links_us = static_cast<double>(plan.prediction.link_bytes) / (target.rates.link_gbs * 1000);
  if (pattern.product) {
    const auto multiply_adds = static_cast<double>(size_of(pattern.product(plan.problem)));
    point.tflops = 2 * multiply_adds / (point.time_us * 1e6);
  }
  if (pair.product) point.product_us = median(sorted_times(readings.product));
  return point;
}

}  // namespace

BenchReport bench_operation(const KernelSpec& kernel, int world, const irisgen::Target& target,
                            const BenchOptions& options) {
  if (target.platform == irisgen::Platform::host)
    throw std::invalid_argument(
        "the host target is for correctness and its times mean nothing; name a GPU target of this machine");
  if (options.batches < 1 || options.launches < 1)
    throw std::invalid_argument("a measurement needs at least one batch of one launch");
  if (options.against_library && (irisgen::pattern_of(kernel.problem).bus == nullptr || !kernel.functions.none()))
    throw std::invalid_argument(kernel.name + " is no collective that the vendor's library has");

  std::optional<const CollectiveLibrary> library;
  if (options.against_library) library.emplace(target.platform);
  std::vector<Pair> all;
  std::size_t heap_bytes = 0;
  for (const KernelSpec& sized : kernels_to_measure(kernel, world, options.sizes)) {
    all.push_back(build_pair(sized, world, target, options));
    heap_bytes = std::max(heap_bytes, heap_bytes_of(all.back()));
  }

  const std::unique_ptr<World> ranks =
      open_world({.size = world, .target = std::string(target.name), .heap_bytes = heap_bytes, .seed = options.seed},
                 options.processes, kernel.name);
  const WorldDevices devices = devices_of(*ranks);
  BenchReport report;
  report.kernel = kernel.name;
  report.pattern = kernel.problem.pattern;
  report.dtype = kernel.problem.dtype;
  report.link_gbs = target.rates.link_gbs;
  report.device = devices.description;
  report.world = world;
  report.ranks_per_device = devices.most_ranks;
  if (library) report.library = library->description();
  std::optional<const LibraryBench> library_bench;
  if (library) library_bench.emplace(*library, *ranks, report.ranks_per_device, world);
  for (const Pair& pair : all) {
    if (options.progress) options.progress(static_cast<int>(report.points.size()), static_cast<int>(all.size()));
    Readings readings;
    ranks->run([&](Context& context) {
      Readings of_all = measure_on_rank(context, pair, options, report.ranks_per_device == 1);
      if (options.processes || context.rank() == 0) readings = std::move(of_all);
    });
    report.points.push_back(make_point(pair, world, target, readings));
    if (library_bench) report.points.back().library = library_bench->measure(pair.kernel.plan, options);
  }
  return report;
}

}  // namespace iris
