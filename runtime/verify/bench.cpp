#include "iris/bench.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "iris/world.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/plan.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/verify/library_bench.hpp"
#include "runtime/verify/measurement.hpp"

namespace iris {
namespace {
using irisgen::KernelSpec;
using irisgen::Plan;

/// What stands in one line of a report: a kernel and, if it is fused, its product alone.
struct Pair {
  Measured kernel;
  irisgen::Prediction prediction;  ///< at its extents
  std::optional<Measured> product;
};

BufferTurns turns_of(const Measured& measured, const BenchOptions& options) {
  return buffer_turns(measured.plan, measured.extents, options.cold, options.launches);
}

std::size_t heap_bytes_of(const Pair& pair, const BenchOptions& options) {
  const auto both = [&](const Measured& measured) {
    return turns_of(measured, options).heap_bytes() + iris::heap_bytes_of(measured);
  };
  return both(pair.kernel) + (pair.product ? both(*pair.product) : 0);
}

/// Builds what a report has lines of.
class PairBuilder {
 public:
  PairBuilder(int world, const irisgen::Target& target, const BenchOptions& options)
      : world_(world), target_(target), options_(options) {}

  Pair of_known_shape(const KernelSpec& kernel) const {
    Measured measured = build(kernel);
    irisgen::Prediction prediction = measured.plan.prediction;
    return with_product(kernel, std::move(measured), std::move(prediction));
  }

  /// The same kernel at each of the shapes.
  std::vector<Pair> of_dynamic_shape(const KernelSpec& kernel) const {
    std::vector<Pair> pairs;
    const Measured every_shape = build(kernel);
    for (const Extents& given : options_.extents) {
      KernelSpec known = kernel;
      known.problem = kernel.problem.at(given);
      Measured measured = every_shape;
      measured.extents = known.problem.static_extents();
      pairs.push_back(with_product(kernel, std::move(measured), plan(known).prediction));
    }
    return pairs;
  }

 private:
  Plan plan(const KernelSpec& kernel) const { return irisgen::make_plan(kernel, world_, target_, options_.plan); }
  Measured build(const KernelSpec& kernel) const { return build_measured(plan(kernel), options_.compiler); }

  Pair with_product(const KernelSpec& kernel, Measured measured, irisgen::Prediction prediction) const {
    const Problem problem = measured.plan.problem.at(measured.extents);
    Pair pair = {.kernel = std::move(measured), .prediction = std::move(prediction), .product = std::nullopt};
    const irisgen::Pattern& pattern = irisgen::pattern_of(problem);
    if (pattern.product == nullptr || pattern.product(problem) == problem) return pair;
    KernelSpec product;
    product.name = kernel.name + "_product";
    product.problem = pattern.product(problem);
    pair.product = build(product);
    return pair;
  }

  int world_;
  const irisgen::Target& target_;
  const BenchOptions& options_;
};

struct Readings {
  Times kernel;
  Times product;
  double call_us = 0;
};

/// The batches of a fused kernel and those of its product take turns, so that the chip is as warm for one as for the
/// other.
Readings measure_on_rank(Context& context, const Pair& pair, const BenchOptions& options, bool as_graphs) {
  const auto sets_of = [&](const Measured& measured) {
    return std::make_unique<const BenchBufferSets>(context, measured.plan, measured.extents,
                                                   turns_of(measured, options), options.seed);
  };
  const std::unique_ptr<const BenchBufferSets> buffers = sets_of(pair.kernel);
  Measurement kernel(context, pair.kernel, *buffers, as_graphs);
  std::unique_ptr<const BenchBufferSets> product_buffers;
  std::optional<Measurement> product;
  if (pair.product) {
    product_buffers = sets_of(*pair.product);
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

/// Says who serves the size that was measured.
void name_kernels(const Measured& measured, BenchPoint& point) {
  const Manifest& manifest = measured.built.manifest;
  point.variant = measured.plan.variant;
  std::vector<std::string> parts;
  for (const Step& step : schedule_for(manifest, measured.extents).steps) {
    const auto* const launch = std::get_if<LaunchStep>(&step.action);
    if (launch == nullptr) continue;
    const KernelEntry& kernel = manifest.kernels[static_cast<std::size_t>(launch->kernel)];
    point.grids +=
        (point.grids.empty() ? "" : ", ") + std::to_string(kernel.blocks) + " x " + std::to_string(kernel.threads);
    parts.push_back(kernel.part);
  }
  if (manifest.schedules.size() == 1) return;
  for (const std::string& part : parts) point.variant += (part == parts.front() ? ": " : ", ") + part;
}

BenchPoint make_point(const Pair& pair, int world, const irisgen::Target& target, const Readings& readings) {
  const Measured& measured = pair.kernel;
  const std::vector<double> slowest_rank = sorted_times(readings.kernel);
  const Problem problem = measured.plan.problem.at(measured.extents);
  const irisgen::Pattern& pattern = irisgen::pattern_of(problem);
  BenchPoint point;
  point.extents = measured.extents;
  point.bytes = irisgen::bus_size(problem);
  name_kernels(measured, point);
  point.predicted_us = pair.prediction.time_us;
  point.time_us = median(slowest_rank);
  point.fastest_us = slowest_rank.front();
  point.slowest_us = slowest_rank.back();
  point.call_us = readings.call_us;
  const double bytes_per_gbs = point.time_us * 1000;  // 10⁹ bytes per second are 1000 bytes per microsecond
  point.algorithm_gbs = static_cast<double>(point.bytes) / bytes_per_gbs;
  point.bus_gbs = pattern.bus == nullptr ? 0 : point.algorithm_gbs * pattern.bus->bus_over_algorithm(world);
  point.link_gbs = static_cast<double>(pair.prediction.link_bytes) / bytes_per_gbs;
  point.links_us = static_cast<double>(pair.prediction.link_bytes) / (target.rates.link_gbs * 1000);
  if (pattern.product) {
    const auto multiply_adds = static_cast<double>(size_of(pattern.product(problem)));
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
  if (options.against_library && options.cold)
    throw std::invalid_argument("cold caches are measured of irisgen's kernels alone, not of the vendor's library");
  if (options.against_library && (irisgen::pattern_of(kernel.problem).bus == nullptr || !kernel.functions.none()))
    throw std::invalid_argument(kernel.name + " is no collective that the vendor's library has");

  std::optional<const CollectiveLibrary> library;
  if (options.against_library) library.emplace(target.platform);
  const PairBuilder builder(world, target, options);
  std::vector<Pair> all;
  if (options.extents.empty() || kernel.problem.is_static()) {
    for (const KernelSpec& sized : kernels_to_measure(kernel, world, options.sizes))
      all.push_back(builder.of_known_shape(sized));
  } else {
    all = builder.of_dynamic_shape(kernel);
  }
  std::size_t heap_bytes = 0;
  for (const Pair& pair : all) heap_bytes = std::max(heap_bytes, heap_bytes_of(pair, options));

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
  report.cold = options.cold;
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
    if (library_bench) report.points.back().library = library_bench->measure(pair.kernel, options);
  }
  return report;
}

}  // namespace iris
