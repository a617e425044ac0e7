#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iris/device.hpp"
#include "runtime/host/grid.hpp"

namespace iris::host {

/// What the engine of one process has to reckon with because other processes share memory with it: whether a thread
/// that cannot go on waits for one of them, and for how long.
class Outside {
 public:
  explicit Outside(const HostProcess& process) : size_(process.size), absence_(process.absence) {}

  /// Others may change these bytes from now on.
  void share(const void* begin, std::size_t bytes);
  void unshare(const void* begin);

  void progressed();
  /// To be asked when nothing has gone on since the last call of either. Why nothing ever will, as the headline of a
  /// report; empty while there is hope. `all_wait`: no thread can run.
  std::string verdict(std::span<const std::unique_ptr<Grid>> grids, bool all_wait, bool polls_in_vain);
  /// How long to leave the others the CPU before looking again.
  std::chrono::microseconds nap();

 private:
  using Clock = std::chrono::steady_clock;

  bool is_shared(const void* address) const;
  bool depends_on_others(std::span<const std::unique_ptr<Grid>> grids) const;
  std::string describe_absence(std::span<const std::unique_ptr<Grid>> grids) const;

  int size_;
  std::function<std::string(int rank)> absence_;
  std::vector<std::pair<const char*, std::size_t>> shared_;
  Clock::time_point last_progress_ = Clock::now();
  std::chrono::microseconds nap_{};
  std::string absent_;  ///< as it was said of a rank that is waited for; what it did before is seen after that
};

}  // namespace iris::host
