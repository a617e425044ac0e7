#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "iris/jit.hpp"
#include "iris/world.hpp"
#include "irisgen/plan.hpp"
#include "runtime/verify/batch.hpp"
#include "runtime/verify/bench_buffers.hpp"

namespace iris {

/// The kernel at each of these sizes in bytes, or as it is if there are none. Throws std::invalid_argument for a
/// dynamic shape without sizes.
std::vector<irisgen::KernelSpec> kernels_to_measure(const irisgen::KernelSpec& kernel, int world,
                                                    const std::vector<std::int64_t>& sizes);

/// A kernel, ready to be measured at one shape.
struct Measured {
  irisgen::Plan plan;
  BuiltOperation built;
  Extents extents;  ///< all of them
};
/// Of static shape.
Measured build_measured(irisgen::Plan plan, std::string_view compiler);

/// What the operation itself takes of each rank's heap, without its buffers.
std::size_t heap_bytes_of(const Measured& measured);

/// An operation on one rank, and how its batches go.
class Measurement {
 public:
  Measurement(Context& context, const Measured& measured, const BenchBufferSets& buffers, bool as_graphs)
      : operation_(context, measured.built, measured.extents),
        extents_(measured.extents),
        scalars_(measured.plan.values),
        batches_(
            context, nullptr,
            [this, &buffers](int number) { operation_.launch(buffers.of_launch(number), extents_, nullptr, scalars_); },
            as_graphs) {}
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  BatchSeries& batches() { return batches_; }

 private:
  Operation operation_;
  Extents extents_;
  Scalars scalars_;
  BatchSeries batches_;
};

/// The ranks of `options`: threads of this process, or processes, of which this is one. Throws a sentence that begins
/// with `kernel` if there are not as many processes.
std::unique_ptr<World> open_world(const WorldOptions& options, bool processes, const std::string& kernel);

/// What rank 0 says of its device, and the most ranks that share one. Collective.
struct WorldDevices {
  std::string description;
  int most_ranks = 1;
};
WorldDevices devices_of(World& ranks);

}  // namespace iris
