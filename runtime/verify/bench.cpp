#include "iris/bench.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>

#include <iris/device/abi.hpp>
#include "iris/jit.hpp"
#include "iris/kernel.hpp"
#include "iris/values.hpp"
#include "iris/world.hpp"
#include "irisgen/plan.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/verify/random.hpp"

namespace iris {
namespace {

using irisgen::Argument;
using irisgen::Extents;
using irisgen::KernelSpec;
using irisgen::Plan;

/// A batch lasts about this long at most, so that large sizes do not take minutes.
constexpr double longest_batch_ms = 20;

struct Measured {
  KernelSpec kernel;
  Extents extents;
  Plan plan;
  BuiltKernel built;
};

/// What one kernel takes of each rank's heap: workspace, flags, epochs and buffers, each with room to align it.
std::size_t heap_bytes_of(const Measured& measured) {
  constexpr std::int64_t room = 4096;
  const irisgen::Manifest& manifest = measured.built.manifest;
  std::int64_t bytes = workspace_bytes(manifest, measured.extents) + room;
  bytes += manifest.flags * std::int64_t{sizeof(device::u32)} + room;
  bytes += manifest.blocks * std::int64_t{sizeof(device::Epoch)} + room;
  for (const Argument& argument : manifest.arguments) bytes += bytes_of(argument, measured.extents) + room;
  return static_cast<std::size_t>(bytes);
}

KernelSpec with_own_shape(const KernelSpec& kernel) {
  if (kernel.m.dynamic || kernel.n.dynamic || kernel.k.dynamic)
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

Measured build(KernelSpec kernel, int world, const irisgen::Target& target) {
  Measured measured;
  measured.extents = {kernel.m.value, kernel.n.value, kernel.k.value};
  measured.plan = irisgen::make_plan(kernel, world, target);
  measured.built = build_kernel(measured.plan);
  measured.kernel = std::move(kernel);
  return measured;
}

/// Random elements, the same run of them over and over: what matters to the time is that they are no zeros.
std::vector<std::byte> random_bytes(std::size_t bytes, const Argument& argument, irisgen::Op op, RandomStream stream) {
  constexpr std::size_t run = 1 << 16;
  const std::size_t elements = bytes / static_cast<std::size_t>(irisgen::bytes_of(argument.dtype));
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
      const std::vector<std::byte> data = random_bytes(bytes, argument, measured.kernel.op, stream);
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
class Event {
 public:
  explicit Event(Device& device) : device_(device), handle_(device.record_event(nullptr)) {}
  ~Event() { device_.destroy_event(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  double milliseconds_since(const Event& start) const { return device_.milliseconds(start.handle_, handle_); }

 private:
  Device& device_;
  void* handle_;
};

/// Milliseconds of `launches` launches, as this rank's device counts them. The launch before the first event makes the
/// ranks start together: a collective ends when all have taken part.
double time_batch(Context& context, Kernel& kernel, const Buffers& buffers, int launches) {
  context.barrier();
  kernel.launch(buffers.pointers());
  const Event start(context.device());
  for (int launch = 0; launch < launches; ++launch) kernel.launch(buffers.pointers());
  const Event stop(context.device());
  context.synchronize();
  return stop.milliseconds_since(start);
}

/// Microseconds per launch, [batch][rank]; every rank writes its own column.
using Times = std::vector<std::vector<double>>;

/// The same on every rank, because all compute it from all ranks' times of the warm-up.
int launches_of_batch(const std::vector<double>& warm_up_us, int most) {
  const double slowest_us = std::max(*std::max_element(warm_up_us.begin(), warm_up_us.end()), 1e-3);
  return std::clamp(static_cast<int>(longest_batch_ms * 1000 / slowest_us), 1, most);
}

void measure_on_rank(Context& context, const Measured& measured, const BenchOptions& options,
                     std::vector<double>& warm_up_us, Times& times) {
  const auto rank = static_cast<std::size_t>(context.rank());
  const Buffers buffers(context, measured, options.seed);
  Kernel kernel(context, measured.built);
  constexpr int warm_up_launches = 5;
  time_batch(context, kernel, buffers, 1);
  warm_up_us[rank] = time_batch(context, kernel, buffers, warm_up_launches) * 1000 / warm_up_launches;
  context.barrier();
  const int launches = launches_of_batch(warm_up_us, options.launches);
  for (std::vector<double>& batch : times)
    batch[rank] = time_batch(context, kernel, buffers, launches) * 1000 / launches;
  context.barrier();
}

BenchPoint make_point(const Measured& measured, int world, const Times& times) {
  std::vector<double> slowest_rank;
  slowest_rank.reserve(times.size());
  for (const std::vector<double>& batch : times) slowest_rank.push_back(*std::max_element(batch.begin(), batch.end()));
  std::sort(slowest_rank.begin(), slowest_rank.end());

  const Extents& extents = measured.extents;
  BenchPoint point;
  point.extents = extents;
  point.bytes = size_of(measured.kernel, world, extents);
  point.variant = measured.plan.variant;
  point.blocks = measured.plan.blocks;
  point.threads = measured.plan.threads;
  point.time_us = slowest_rank[slowest_rank.size() / 2];
  point.fastest_us = slowest_rank.front();
  point.slowest_us = slowest_rank.back();
  const double bytes_per_gbs = point.time_us * 1000;  // 10⁹ bytes per second are 1000 bytes per microsecond
  point.algorithm_gbs = static_cast<double>(point.bytes) / bytes_per_gbs;
  point.bus_gbs = point.algorithm_gbs * bus_factor(*measured.kernel.pattern, world);
  point.link_gbs = static_cast<double>(measured.plan.prediction.link_bytes) / bytes_per_gbs;
  // Both fused kernels multiply (m, k) by (k, n) on every rank.
  if (point.bytes == 0)
    point.tflops = 2.0 * static_cast<double>(extents.m) * static_cast<double>(extents.n) *
                   static_cast<double>(extents.k) / (point.time_us * 1e6);
  return point;
}

}  // namespace

BenchReport bench_kernel(const KernelSpec& kernel, int world, const irisgen::Target& target,
                         const BenchOptions& options) {
  if (target.platform == irisgen::Platform::host)
    throw std::invalid_argument(
        "the host target is for correctness and its times mean nothing; name a GPU target of this machine");
  if (options.batches < 1 || options.launches < 1)
    throw std::invalid_argument("a measurement needs at least one batch of one launch");

  std::vector<Measured> all;
  std::size_t heap_bytes = 0;
  for (KernelSpec& sized : kernels_to_measure(kernel, world, options)) {
    all.push_back(build(std::move(sized), world, target));
    heap_bytes = std::max(heap_bytes, heap_bytes_of(all.back()));
  }

  World ranks({.size = world, .target = std::string(target.name), .heap_bytes = heap_bytes, .seed = options.seed});
  BenchReport report;
  report.world = world;
  for (const Measured& measured : all) {
    if (options.progress) options.progress(static_cast<int>(report.points.size()), static_cast<int>(all.size()));
    std::vector<double> warm_up_us(static_cast<std::size_t>(world));
    Times times(static_cast<std::size_t>(options.batches), std::vector<double>(static_cast<std::size_t>(world)));
    std::vector<int> devices(static_cast<std::size_t>(world));
    ranks.run([&](Context& context) {
      measure_on_rank(context, measured, options, warm_up_us, times);
      devices[static_cast<std::size_t>(context.rank())] = context.device().index();
      if (context.rank() == 0) report.device = context.device().description();
    });
    const auto on_first = std::count(devices.begin(), devices.end(), devices.front());
    report.ranks_per_device = static_cast<int>(on_first);
    report.points.push_back(make_point(measured, world, times));
  }
  return report;
}

}  // namespace iris
