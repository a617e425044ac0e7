#include "runtime/verify/bench_peer.hpp"

#include <cstddef>
#include <exception>

#include "irisgen/pattern.hpp"
#include "runtime/verify/batch.hpp"

namespace iris {
namespace {

/// A stream of the rank's, which the library wants to be named.
class OwnStream {
 public:
  explicit OwnStream(Context& context) : context_(context), stream_(context.device().create_stream()) {}
  ~OwnStream() { context_.device().destroy_stream(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  Stream get() const { return stream_; }

 private:
  Context& context_;
  Stream stream_;
};

std::size_t bytes_of_buffer(const Problem& problem, std::size_t argument) {
  const Argument buffer = irisgen::pattern_of(problem).arguments(problem).at(argument);
  std::int64_t bytes = bytes_of(buffer.dtype);
  for (const Dimension& dimension : buffer.shape) bytes *= length_of(dimension, problem.static_extents());
  return static_cast<std::size_t>(bytes);
}

void time_all(Context& context, const Problem& problem, const BenchOptions& options, const Communicator& communicator,
              const void* input, void* output, Times& times) {
  const OwnStream stream(context);
  BatchSeries batches(
      context, stream.get(), [&] { communicator.enqueue(problem, input, output, stream.get()); }, true, times);
  batches.warm_up(options.launches);
  for (std::size_t batch = 1; batch < times.size(); ++batch) batches.time(batch);
  context.barrier();
}

}  // namespace

BenchPeer::BenchPeer(irisgen::Platform platform, World& ranks, int world)
    : library_(platform), ranks_(ranks), communicators_(static_cast<std::size_t>(world)) {
  const CollectiveLibrary::Id id = library_.make_id();
  ranks_.run([&](Context& context) {
    communicators_[static_cast<std::size_t>(context.rank())] =
        std::make_unique<const Communicator>(library_, id, world, context.rank());
  });
}

BenchPeer::~BenchPeer() {
  try {
    ranks_.run([&](Context& context) { communicators_[static_cast<std::size_t>(context.rank())].reset(); });
  } catch (const std::exception&) {
    communicators_.clear();  // a rank failed before, which has been said
  }
}

LibraryTimes BenchPeer::measure(const Problem& problem, const BenchOptions& options) const {
  Times plain = times_of(options.batches, problem.world);
  Times in_windows = plain;
  ranks_.run([&](Context& context) {
    const Communicator& communicator = *communicators_[static_cast<std::size_t>(context.rank())];
    void* const input = context.allocate(bytes_of_buffer(problem, 0));
    void* const output = context.allocate(bytes_of_buffer(problem, 1));
    time_all(context, problem, options, communicator, input, output, plain);
    context.free(output);
    context.free(input);
    if (!library_.has_windows()) return;
    const WindowBuffer from(communicator, bytes_of_buffer(problem, 0));
    const WindowBuffer to(communicator, bytes_of_buffer(problem, 1));
    time_all(context, problem, options, communicator, from.data(), to.data(), in_windows);
  });
  return {.time_us = median(sorted_times(plain)),
          .window_us = library_.has_windows() ? median(sorted_times(in_windows)) : 0};
}

}  // namespace iris
