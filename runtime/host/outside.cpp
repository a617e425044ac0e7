#include "runtime/host/outside.hpp"

#include <algorithm>
#include <set>

#include "runtime/system/fault.hpp"

namespace iris::host {

namespace {

constexpr std::chrono::microseconds shortest_nap{20};
constexpr std::chrono::microseconds longest_nap{1000};

/// Of a launch that gives none.
constexpr std::uint64_t default_timeout_ns = 10'000'000'000;

/// What all waits of these launches have had time for.
std::uint64_t timeout_of(std::span<const std::unique_ptr<Grid>> grids) {
  std::uint64_t longest = 0;
  for (const auto& grid : grids) longest = std::max(longest, grid->timeout_ns);
  return longest != 0 ? longest : default_timeout_ns;
}

template <typename Visit>
void for_each_thread(std::span<const std::unique_ptr<Grid>> grids, Visit visit) {
  for (const auto& grid : grids) {
    for (const Block& block : grid->blocks) {
      for (const DeviceThread& thread : grid->threads_of(block)) visit(thread);
    }
  }
}

}  // namespace

void Outside::share(const void* begin, std::size_t bytes) {
  shared_.emplace_back(static_cast<const char*>(begin), bytes);
}

void Outside::unshare(const void* begin) {
  std::erase_if(shared_, [&](const auto& range) { return range.first == begin; });
}

void Outside::progressed() {
  last_progress_ = Clock::now();
  nap_ = {};
  absent_.clear();
}

std::string Outside::verdict(std::span<const std::unique_ptr<Grid>> grids, bool all_wait, bool polls_in_vain) {
  if ((all_wait || polls_in_vain) && !depends_on_others(grids)) return "deadlock: no thread of any kernel can go on";
  std::string absent = all_wait ? describe_absence(grids) : std::string();
  if (!absent.empty() && absent == absent_) return absent + "; no thread of this process's kernels can go on";
  absent_ = std::move(absent);
  const std::uint64_t timeout = timeout_of(grids);
  const auto waited = static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now() - last_progress_).count());
  if (waited <= timeout || !(all_wait || polls_in_vain)) return {};
  return "no thread of this process's kernels has gone on for " + describe_duration(timeout);
}

std::chrono::microseconds Outside::nap() {
  return nap_ = std::clamp(2 * nap_, shortest_nap, longest_nap);
}

bool Outside::is_shared(const void* address) const {
  const char* const place = static_cast<const char*>(address);
  return std::ranges::any_of(shared_, [&](const auto& range) {
    return !std::less<>()(place, range.first) && std::less<>()(place, range.first + range.second);
  });
}

bool Outside::depends_on_others(std::span<const std::unique_ptr<Grid>> grids) const {
  bool depends = false;
  for_each_thread(grids, [&](const DeviceThread& thread) {
    if (thread.state == ThreadState::waiting) depends = depends || is_shared(thread.flag);
    if (thread.state == ThreadState::ready) depends = depends || thread.polled == nullptr || is_shared(thread.polled);
  });
  return depends;
}

/// A lock may be held by another rank than the one that it belongs to. A kernel may name a peer that there is not.
std::string Outside::describe_absence(std::span<const std::unique_ptr<Grid>> grids) const {
  std::set<int> awaited;
  for_each_thread(grids, [&](const DeviceThread& thread) {
    const bool waits = thread.state == ThreadState::waiting && is_shared(thread.flag);
    const bool is_rank = thread.peer >= 0 && thread.peer < size_;
    if (waits && is_rank && thread.what != device::Wait::lock) awaited.insert(thread.peer);
  });
  for (const int rank : awaited) {
    const std::string absent = absence_(rank);
    if (!absent.empty()) return absent;
  }
  return {};
}

}  // namespace iris::host
