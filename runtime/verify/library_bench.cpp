#include "runtime/verify/library_bench.hpp"

#include <cstddef>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/verify/batch.hpp"
#include "runtime/verify/bench_buffers.hpp"
#include "runtime/world/group.hpp"

namespace iris {
namespace {

Times time_all(Context& context, const Problem& problem, const BenchOptions& options, const Communicator& communicator,
               const void* input, void* output) {
  const OwnedStream stream = make_stream(context.device());  // the library wants one that has a name
  BatchSeries batches(
      context, stream.get(), [&](int) { communicator.enqueue(problem, input, output, stream.get()); }, true);
  batches.warm_up(options.launches);
  for (int batch = 0; batch < options.batches; ++batch) batches.time();
  return batches.gather();
}

/// What rank 0 has made, on every rank. Collective.
NcclUniqueId broadcast_id(Context& context, const CollectiveLibrary& library) {
  NcclUniqueId id = context.rank() == 0 ? library.make_id() : NcclUniqueId{};
  const std::string bytes =
      context.state().collectives->broadcast({.call = "the identifier of a communicator", .state = {}},
                                             std::string(reinterpret_cast<const char*>(&id), sizeof id));
  std::memcpy(&id, bytes.data(), sizeof id);
  return id;
}

}  // namespace

LibraryBench::LibraryBench(const CollectiveLibrary& library, World& ranks, int ranks_per_device, int world)
    : library_(library), ranks_(ranks), communicators_(static_cast<std::size_t>(world)) {
  if (ranks_per_device > 1) {
    throw std::runtime_error(library.description() + " wants a GPU for each rank, and " +
                             std::to_string(ranks_per_device) + " ranks share one; measure fewer ranks (--world)");
  }
  ranks_.run([&](Context& context) {
    const NcclUniqueId id = broadcast_id(context, library_);
    communicators_[static_cast<std::size_t>(context.rank())] =
        std::make_unique<const Communicator>(library_, id, world, context.rank());
  });
}

LibraryBench::~LibraryBench() {
  try {
    ranks_.run([&](Context& context) { communicators_[static_cast<std::size_t>(context.rank())].reset(); });
  } catch (const std::exception&) {
    communicators_.clear();  // a rank failed before, which has been said
  }
}

LibraryTimes LibraryBench::measure(const Measured& ours, const BenchOptions& options) const {
  const Problem problem = ours.plan.problem.at(ours.extents);
  Times plain;
  Times in_windows;
  ranks_.run([&](Context& context) {
    const Communicator& communicator = *communicators_[static_cast<std::size_t>(context.rank())];
    const BenchBuffers buffers(context, ours.plan, ours.extents, options.seed);
    const bool notes = options.processes || context.rank() == 0;
    Times of_all = time_all(context, problem, options, communicator, buffers.pointers()[0], buffers.pointers()[1]);
    if (notes) plain = std::move(of_all);
    if (!library_.has_windows()) return;
    const LibraryMemory from(library_, buffers.bytes()[0]);
    const LibraryMemory to(library_, buffers.bytes()[1]);
    context.device().copy(from.data(), buffers.pointers()[0], buffers.bytes()[0]);
    context.barrier();  // a rank that has no memory left tells the others here, before they wait for it
    const Window of_input(communicator, from);
    const Window of_output(communicator, to);
    of_all = time_all(context, problem, options, communicator, from.data(), to.data());
    if (notes) in_windows = std::move(of_all);
  });
  return {.time_us = median(sorted_times(plain)),
          .window_us = library_.has_windows() ? median(sorted_times(in_windows)) : 0};
}

}  // namespace iris
