#include "iris/bench.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>

#include "iris/jit.hpp"
#include "iris/values.hpp"
#include "iris/world.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/plan.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/verify/random.hpp"
#include "runtime/world/heap.hpp"

namespace iris {
namespace {
using irisgen::KernelSpec;
using irisgen::Plan;

/// A batch lasts about this long at most, so that large sizes do not take minutes.
constexpr double longest_batch_ms = 20;

/// A kernel at one size.
struct Measured {
  Extents extents;
  Plan plan;
  BuiltOperation built;
};

/// What stands in one line of a report: a kernel and, if it is fused, its product alone.
struct Pair {
  Measured kernel;
  std::optional<Measured> product;
};

/// What one operation and its buffers take of each rank's heap.
std::size_t heap_bytes_of(const Measured& measured) {
  const Manifest& manifest = measured.built.manifest;
  std::int64_t bytes = layout_of(manifest, measured.extents).total_bytes;
  for (const Argument& argument : manifest.arguments) {
    bytes += bytes_of(argument, measured.extents) + std::int64_t{Heap::alignment};
  }
  return static_cast<std::size_t>(bytes) + Heap::alignment;
}

KernelSpec with_own_shape(const KernelSpec& kernel) {
  if (!kernel.problem.is_static())
    throw std::invalid_argument("the shape of " + kernel.name + " is dynamic; give the sizes to measure (--sizes)");
  return kernel;
}

std::vector<KernelSpec> kernels_to_measure(const KernelSpec& kernel, int world, const BenchOptions& options) {
  if (options.sizes.empty()) return {with_own_shape(kernel)};
  std::vector<KernelSpec> kernels;
  kernels.reserve(options.sizes.size());
  for (const std::int64_t bytes : options.sizes) kernels.push_back(at_size(kernel, world, bytes));
  return kernels;
}

Measured build(const KernelSpec& kernel, int world, const irisgen::Target& target, const BenchOptions& options) {
  Measured measured;
  measured.extents = kernel.problem.static_extents();
  measured.plan = irisgen::make_plan(kernel, world, target);
  measured.built = build_operation(measured.plan, options.compiler);
  return measured;
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

/// Random elements, the same run of them over and over: what matters to the time is that they are no zeros.
std::vector<std::byte> random_bytes(std::size_t bytes, const Argument& argument, Op op, RandomStream stream) {
  constexpr std::size_t run = 1 << 16;
  const std::size_t elements = bytes / static_cast<std::size_t>(bytes_of(argument.dtype));
  const std::vector<double> values = random_values(stream, std::min(elements, run), argument.dtype, op);
  const std::vector<std::byte> pattern = to_bytes(values, argument.dtype);
  std::vector<std::byte> data(bytes);
  for (std::size_t at = 0; at < bytes; at += pattern.size())
    std::copy_n(pattern.begin(), std::min(pattern.size(), bytes - at), data.begin() + static_cast<std::ptrdiff_t>(at));
  return data;
}

/// One rank's buffers of one kernel, on the symmetric heap.
class Buffers {
 public:
  Buffers(Context& context, const Measured& measured, std::uint64_t seed) : context_(context) {
    int position = 0;
    for (const Argument& argument : measured.plan.arguments) {
      const auto bytes = static_cast<std::size_t>(bytes_of(argument, measured.extents));
      pointers_.push_back(context.allocate(bytes));
      const RandomStream stream{.seed = seed, .rank = context.rank(), .argument = position++, .launch = 0};
      const std::vector<std::byte> data =
          random_bytes(bytes, argument, measured.plan.problem.op.value_or(Op::sum), stream);
      context.device().copy(pointers_.back(), data.data(), bytes);
    }
  }
  ~Buffers() {
    for (void* pointer : pointers_) context_.free(pointer);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::span<void* const> pointers() const { return pointers_; }

 private:
  Context& context_;
  std::vector<void*> pointers_;
};

/// A time stamp in the rank's default stream.
class TimeStamp {
 public:
  explicit TimeStamp(Device& device) : device_(device), event_(device.create_event()) {
    device.record(event_, nullptr);
  }
  ~TimeStamp() { device_.destroy_event(event_); }
  TimeStamp(const TimeStamp&) = delete;
  TimeStamp& operator=(const TimeStamp&) = delete;

  double milliseconds_since(const TimeStamp& start) const { return device_.milliseconds(start.event_, event_); }

 private:
  Device& device_;
  Event event_;
};

/// Launches that follow one another, as a batch of them is: one graph, so that the host's part in a launch is not
/// measured. Ranks that share a GPU launch each time anew: a copy of theirs waits on the host for what stands before
/// it.
class Batch {
 public:
  Batch(Context& context, Operation& operation, const Buffers& buffers, int launches, bool as_graph)
      : context_(context), operation_(operation), buffers_(buffers), launches_(launches) {
    if (!as_graph) return;
    context.device().begin_capture(nullptr);
    launch_each();
    graph_ = context.device().end_capture(nullptr);
  }
  ~Batch() {
    if (graph_ != nullptr) context_.device().destroy_graph(graph_);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// Microseconds of a launch, as this rank's device counts them. The launch before the first event makes ranks that
  /// work together start together: a collective ends when all have taken part.
  double time_us() const {
    context_.barrier();
    operation_.launch(buffers_.pointers());
    const TimeStamp start(context_.device());
    graph_ != nullptr ? context_.device().launch_graph(graph_, nullptr) : launch_each();
    const TimeStamp stop(context_.device());
    context_.synchronize();
    return stop.milliseconds_since(start) * 1000 / launches_;
  }

 private:
  void launch_each() const {
    for (int launch = 0; launch < launches_; ++launch) operation_.launch(buffers_.pointers());
  }

  Context& context_;
  Operation& operation_;
  const Buffers& buffers_;
  int launches_;
  Graph graph_ = nullptr;
};

/// Microseconds per launch, [batch][rank]; every rank writes its own column.
using Times = std::vector<std::vector<double>>;

/// The same on every rank, because all compute it from all ranks' times of the warm-up.
int launches_of_batch(const std::vector<double>& warm_up_us, int most) {
  const double slowest_us = std::max(*std::max_element(warm_up_us.begin(), warm_up_us.end()), 1e-3);
  return std::clamp(static_cast<int>(longest_batch_ms * 1000 / slowest_us), 1, most);
}

/// An operation on one rank, and how its batches go.
class Measurement {
 public:
  Measurement(Context& context, const Measured& measured, const BenchOptions& options, bool as_graph, Times& times)
      : context_(context),
        buffers_(context, measured, options.seed),
        operation_(context, measured.built),
        as_graph_(as_graph),
        times_(times) {}

  /// The first row of the times is of the warm-up, from which every rank finds the same length of a batch.
  void warm_up(int most_launches) {
    constexpr int warm_up_launches = 5;
    batch_.emplace(context_, operation_, buffers_, warm_up_launches, false);
    batch_->time_us();
    time_batch_number(0);
    context_.barrier();
    batch_.emplace(context_, operation_, buffers_, launches_of_batch(times_[0], most_launches), as_graph_);
  }
  void time_batch_number(std::size_t batch) {
    times_[batch][static_cast<std::size_t>(context_.rank())] = batch_->time_us();
  }

 private:
  Context& context_;
  Buffers buffers_;
  Operation operation_;
  bool as_graph_;
  Times& times_;
  std::optional<Batch> batch_;
};

/// The batches of a fused kernel and those of its product take turns, so that the chip is as warm for one as for the
/// other.
void measure_on_rank(Context& context, const Pair& pair, const BenchOptions& options, bool as_graphs, Times& times,
                     Times& product_times) {
  Measurement kernel(context, pair.kernel, options, as_graphs, times);
  std::optional<Measurement> product;
  if (pair.product) product.emplace(context, *pair.product, options, as_graphs, product_times);
  kernel.warm_up(options.launches);
  if (product) product->warm_up(options.launches);
  for (std::size_t batch = 1; batch < times.size(); ++batch) {
    kernel.time_batch_number(batch);
    if (product) product->time_batch_number(batch);
  }
  context.barrier();
}

/// Of the slowest rank, from the fastest batch to the slowest; the warm-up does not count.
std::vector<double> sorted_times(const Times& times) {
  std::vector<double> slowest_rank;
  slowest_rank.reserve(times.size());
  for (const std::vector<double>& batch : std::span(times).subspan(1))
    slowest_rank.push_back(*std::max_element(batch.begin(), batch.end()));
  std::sort(slowest_rank.begin(), slowest_rank.end());
  return slowest_rank;
}
double median(const std::vector<double>& sorted) {
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

BenchPoint make_point(const Pair& pair, int world, const irisgen::Target& target, const Times& times,
                      const Times& product_times) {
  const Measured& measured = pair.kernel;
  const std::vector<double> slowest_rank = sorted_times(times);
  const Plan& plan = measured.plan;
  const irisgen::Pattern& pattern = irisgen::pattern_of(plan.problem);
  BenchPoint point;
  point.extents = measured.extents;
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
  const double bytes_per_gbs = point.time_us * 1000;  // 10⁹ bytes per second are 1000 bytes per microsecond
  point.algorithm_gbs = static_cast<double>(point.bytes) / bytes_per_gbs;
  point.bus_gbs = pattern.bus == nullptr ? 0 : point.algorithm_gbs * pattern.bus->bus_over_algorithm(world);
  point.link_gbs = static_cast<double>(plan.prediction.link_bytes) / bytes_per_gbs;
  point.links_us = static_cast<double>(plan.prediction.link_bytes) / (target.link_gbs * 1000);
  if (pattern.product) {
    const auto multiply_adds = static_cast<double>(size_of(pattern.product(plan.problem)));
    point.tflops = 2 * multiply_adds / (point.time_us * 1e6);
  }
  if (pair.product) point.product_us = median(sorted_times(product_times));
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

  std::vector<Pair> all;
  std::size_t heap_bytes = 0;
  for (const KernelSpec& sized : kernels_to_measure(kernel, world, options)) {
    all.push_back(build_pair(sized, world, target, options));
    const Pair& pair = all.back();
    heap_bytes = std::max(heap_bytes, heap_bytes_of(pair.kernel) + (pair.product ? heap_bytes_of(*pair.product) : 0));
  }

  World ranks({.size = world, .target = std::string(target.name), .heap_bytes = heap_bytes, .seed = options.seed});
  BenchReport report;
  report.world = world;
  std::vector<int> devices(static_cast<std::size_t>(world));
  ranks.run([&](Context& context) {
    devices[static_cast<std::size_t>(context.rank())] = context.device().index();
    if (context.rank() == 0) report.device = context.device().description();
  });
  report.ranks_per_device = static_cast<int>(std::count(devices.begin(), devices.end(), devices.front()));
  for (const Pair& pair : all) {
    if (options.progress) options.progress(static_cast<int>(report.points.size()), static_cast<int>(all.size()));
    Times times(static_cast<std::size_t>(options.batches) + 1, std::vector<double>(static_cast<std::size_t>(world)));
    Times product_times = times;
    ranks.run([&](Context& context) {
      measure_on_rank(context, pair, options, report.ranks_per_device == 1, times, product_times);
    });
    report.points.push_back(make_point(pair, world, target, times, product_times));
  }
  return report;
}

}  // namespace iris
