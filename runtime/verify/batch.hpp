#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "iris/device.hpp"
#include "iris/world.hpp"

namespace iris {

/// Launches that follow one another in a stream, as a batch of them is: one graph, so that the host's part in a launch
/// is not measured. Ranks that share a GPU launch each time anew: a copy of theirs waits on the host for what stands
/// before it.
class Batch {
 public:
  /// `launch` enqueues one of them in the stream.
  Batch(Context& context, Stream stream, std::function<void()> launch, int launches, bool as_graph);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// Microseconds of a launch, as this rank's device counts them. The launch before the first event makes ranks that
  /// work together start together: a collective ends when all have taken part.
  double time_us() const;

 private:
  void launch_each() const;

  Context& context_;
  Stream stream_;
  std::function<void()> launch_;
  int launches_;
  Graph graph_ = nullptr;
};

/// Microseconds per launch, [batch][rank]; every rank writes its own column. The first row is of a warm-up.
using Times = std::vector<std::vector<double>>;
Times times_of(int batches, int world);

/// Warms up, and then times as many batches as `times` has rows, each of at most `most_launches`, fewer where a launch
/// is long. Every rank calls each of these alike.
class BatchSeries {
 public:
  BatchSeries(Context& context, Stream stream, std::function<void()> launch, bool as_graphs, Times& times);
  void warm_up(int most_launches);
  void time(std::size_t batch);

 private:
  Context& context_;
  Stream stream_;
  std::function<void()> launch_;
  bool as_graphs_;
  Times& times_;
  std::unique_ptr<Batch> batch_;
};

/// Of the slowest rank, from the fastest batch to the slowest; the warm-up does not count.
std::vector<double> sorted_times(const Times& times);
double median(const std::vector<double>& sorted);

}  // namespace iris
