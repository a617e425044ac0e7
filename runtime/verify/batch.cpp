#include "runtime/verify/batch.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "runtime/world/group.hpp"

namespace iris {
namespace {

/// A batch lasts about this long at most, so that large sizes do not take minutes.
constexpr double longest_batch_ms = 20;

/// A time stamp in a stream.
class TimeStamp {
 public:
  TimeStamp(Device& device, Stream stream) : device_(device), event_(make_event(device)) {
    device.record(event_.get(), stream);
  }

  double milliseconds_since(const TimeStamp& start) const {
    return device_.milliseconds(start.event_.get(), event_.get());
  }

 private:
  Device& device_;
  OwnedEvent event_;
};

/// What each rank gives, in the order of ranks. Collective.
Times gather_times(Context& context, std::span<const double> own_us) {
  const std::string bytes(reinterpret_cast<const char*>(own_us.data()), own_us.size_bytes());
  Times times;
  for (const std::string& of_rank :
       context.state().collectives->all_gather({.call = "the times of batches", .state = {}}, bytes)) {
    times.emplace_back(of_rank.size() / sizeof(double));
    std::memcpy(times.back().data(), of_rank.data(), times.back().size() * sizeof(double));
  }
  return times;
}

/// The same on every rank, because all compute it from all ranks' times of the warm-up.
int launches_of_batch(const std::vector<double>& slowest_rank_us, int most) {
  const double slowest_us = std::max(slowest_rank_us.front(), 1e-3);
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

Batch::Batch(Context& context, Stream stream, Launch launch, int launches, bool as_graph)
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
  launch_(before_batch);
  const TimeStamp start(context_.device(), stream_);
  graph_ != nullptr ? context_.device().launch_graph(graph_, stream_) : launch_each();
  const TimeStamp stop(context_.device(), stream_);
  context_.synchronize(stream_);
  return stop.milliseconds_since(start) * 1000 / launches_;
}

double Batch::call_us() const {
  context_.barrier();
  const auto start = std::chrono::steady_clock::now();
  launch_each();
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  context_.synchronize(stream_);
  return took.count() / launches_;
}

void Batch::launch_each() const {
  for (int number = 0; number < launches_; ++number) launch_(number);
}

BatchSeries::BatchSeries(Context& context, Stream stream, Launch launch, bool as_graphs)
    : context_(context), stream_(stream), launch_(std::move(launch)), as_graphs_(as_graphs) {}

void BatchSeries::warm_up(int most_launches) {
  constexpr int warm_up_launches = 5;
  batch_ = std::make_unique<Batch>(context_, stream_, launch_, warm_up_launches, false);
  batch_->time_us();
  const std::vector<double> warm_up_us = {batch_->time_us()};
  const std::vector<double> slowest_us = sorted_times(gather_times(context_, warm_up_us));
  batch_ =
      std::make_unique<Batch>(context_, stream_, launch_, launches_of_batch(slowest_us, most_launches), as_graphs_);
  batch_->time_us();  // a graph's first launch brings it to the device
}

void BatchSeries::time() {
  own_us_.push_back(batch_->time_us());
}

Times BatchSeries::gather() const {
  return gather_times(context_, own_us_);
}

double BatchSeries::call_us() const {
  constexpr int batches = 5;
  double least = batch_->call_us();
  for (int batch = 1; batch < batches; ++batch) least = std::min(least, batch_->call_us());
  return sorted_times(gather_times(context_, std::vector{least})).front();
}

std::vector<double> sorted_times(const Times& times) {
  std::vector<double> slowest_rank = times.front();
  for (const std::vector<double>& rank : times) {
    std::ranges::transform(rank, slowest_rank, slowest_rank.begin(),
                           [](double one, double other) { return std::max(one, other); });
  }
  std::ranges::sort(slowest_rank);
  return slowest_rank;
}

double median(const std::vector<double>& sorted) {
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

}  // namespace iris
