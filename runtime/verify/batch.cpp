#include "runtime/verify/batch.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <span>
#include <utility>

namespace iris {
namespace {

/// A batch lasts about this long at most, so that large sizes do not take minutes.
constexpr double longest_batch_ms = 20;

/// A time stamp in a stream.
class TimeStamp {
 public:
  TimeStamp(Device& device, Stream stream) : device_(device), event_(device.create_event()) {
    device.record(event_, stream);
  }
  ~TimeStamp() { device_.destroy_event(event_); }
  TimeStamp(const TimeStamp&) = delete;
  TimeStamp& operator=(const TimeStamp&) = delete;

  double milliseconds_since(const TimeStamp& start) const { return device_.milliseconds(start.event_, event_); }

 private:
  Device& device_;
  Event event_;
};

/// The same on every rank, because all compute it from all ranks' times of the warm-up.
int launches_of_batch(const std::vector<double>& warm_up_us, int most) {
  const double slowest_us = std::max(*std::ranges::max_element(warm_up_us), 1e-3);
  return std::clamp(static_cast<int>(longest_batch_ms * 1000 / slowest_us), 1, most);
}

/// So that the stream can be used again.
void end_failed_capture(Device& device, Stream stream) noexcept {
  try {
    device.destroy_graph(device.end_capture(stream));
  } catch (const std::exception&) {
    return;  // what failed before is what counts
  }
}

}  // namespace

Batch::Batch(Context& context, Stream stream, std::function<void()> launch, int launches, bool as_graph)
    : context_(context), stream_(stream), launch_(std::move(launch)), launches_(launches) {
  if (!as_graph) return;
  Device& device = context.device();
  device.begin_capture(stream);
  try {
    launch_each();
  } catch (...) {
    end_failed_capture(device, stream);
    throw;
  }
  graph_ = device.end_capture(stream);
}

Batch::~Batch() {
  if (graph_ != nullptr) context_.device().destroy_graph(graph_);
}

double Batch::time_us() const {
  context_.barrier();
  launch_();
  const TimeStamp start(context_.device(), stream_);
  graph_ != nullptr ? context_.device().launch_graph(graph_, stream_) : launch_each();
  const TimeStamp stop(context_.device(), stream_);
  context_.synchronize(stream_);
  return stop.milliseconds_since(start) * 1000 / launches_;
}

void Batch::launch_each() const {
  for (int launch = 0; launch < launches_; ++launch) launch_();
}

Times times_of(int batches, int world) {
  return {static_cast<std::size_t>(batches) + 1, std::vector<double>(static_cast<std::size_t>(world))};
}

BatchSeries::BatchSeries(Context& context, Stream stream, std::function<void()> launch, bool as_graphs, Times& times)
    : context_(context), stream_(stream), launch_(std::move(launch)), as_graphs_(as_graphs), times_(times) {}

void BatchSeries::warm_up(int most_launches) {
  constexpr int warm_up_launches = 5;
  batch_ = std::make_unique<Batch>(context_, stream_, launch_, warm_up_launches, false);
  batch_->time_us();
  time(0);
  context_.barrier();
  batch_ = std::make_unique<Batch>(context_, stream_, launch_, launches_of_batch(times_[0], most_launches), as_graphs_);
  batch_->time_us();  // a graph's first launch brings it to the device
}

void BatchSeries::time(std::size_t batch) {
  times_[batch][static_cast<std::size_t>(context_.rank())] = batch_->time_us();
}

std::vector<double> sorted_times(const Times& times) {
  std::vector<double> slowest_rank;
  slowest_rank.reserve(times.size());
  for (const std::vector<double>& batch : std::span(times).subspan(1)) {
    slowest_rank.push_back(*std::ranges::max_element(batch));
  }
  std::ranges::sort(slowest_rank);
  return slowest_rank;
}

double median(const std::vector<double>& sorted) {
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

}  // namespace iris
