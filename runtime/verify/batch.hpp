#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "iris/device.hpp"
#include "iris/world.hpp"

namespace iris {

/// The number of the launch that stands before a batch.
inline constexpr int before_batch = -1;
/// Enqueues one launch in a stream, by its number in its batch.
using Launch = std::function<void(int number)>;

/// Launches that follow one another in a stream, as a batch of them is: one graph, so that the host's part in a launch
/// is not measured. Ranks that share a GPU launch each time anew: a copy of theirs waits on the host for what stands
/// before it.
class Batch {
 public:
  Batch(Context& context, Stream stream, Launch launch, int launches, bool as_graph);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// Microseconds of a launch, as this rank's device counts them. The launch before the first event makes ranks that
  /// work together start together: a collective ends when all have taken part.
  double time_us() const;
  /// Microseconds of the host for a launch, each by a call.
  double call_us() const;

 private:
  void launch_each() const;

  Context& context_;
  Stream stream_;
  Launch launch_;
  int launches_;
  Graph graph_ = nullptr;
};

/// Microseconds per launch, [rank][batch].
using Times = std::vector<std::vector<double>>;

/// Warms up, and then times batches, each of at most `most_launches`, fewer where a launch is long. Every rank calls
/// each of these alike.
class BatchSeries {
 public:
  BatchSeries(Context& context, Stream stream, Launch launch, bool as_graphs);
  void warm_up(int most_launches);
  /// One batch more.
  void time();
  /// Of all batches, on every rank those of all. Collective.
  Times gather() const;
  /// What a call that launches takes of the host, in microseconds: the least of a few batches, on the slowest rank.
  /// Collective.
  double call_us() const;

 private:
  Context& context_;
  Stream stream_;
  Launch launch_;
  bool as_graphs_;
  std::unique_ptr<Batch> batch_;
  std::vector<double> own_us_;
};

/// Of each batch the slowest rank's, from the fastest batch to the slowest.
std::vector<double> sorted_times(const Times& times);
double median(const std::vector<double>& sorted);

}  // namespace iris
