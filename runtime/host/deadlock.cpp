#include "runtime/host/deadlock.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "runtime/host/place_of_call.hpp"
#include "runtime/system/fault.hpp"

namespace iris::host {

namespace {

constexpr std::size_t max_lines = 24;
constexpr std::size_t max_ranges = 8;

/// Where blocks of one grid wait, and for what, in words, and which blocks those are.
using Findings = std::map<std::string, std::vector<std::uint32_t>>;

std::string count_of(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// "block 3", "blocks 0-3, 7".
std::string name_blocks(const std::vector<std::uint32_t>& blocks) {
  std::string text = blocks.size() == 1 ? "block " : "blocks ";
  std::size_t ranges = 0;
  for (std::size_t first = 0; first < blocks.size();) {
    std::size_t last = first;
    while (last + 1 < blocks.size() && blocks[last + 1] == blocks[last] + 1) ++last;
    if (ranges > 0) text += ", ";
    if (++ranges > max_ranges) return text + "…";
    text += std::to_string(blocks[first]);
    if (last > first) text += "-" + std::to_string(blocks[last]);
    first = last + 1;
  }
  return text;
}

/// A word that a thread waits for, as a flag: one of a line has the number of a launch above its elements.
device::u64 as_flag(const DeviceThread& thread, device::u64 word) {
  return thread.what == device::Wait::line ? word >> 32 << device::flag_step_bits : word;
}

std::string describe_wait(const DeviceThread& thread) {
  const device::u64 seen = __atomic_load_n(thread.flag, __ATOMIC_RELAXED);
  return "waits for rank " + std::to_string(thread.peer) + " " + std::string(describe(thread.what)) + "; expected " +
         describe_flag(as_flag(thread, thread.at_least)) + ", saw " + describe_flag(as_flag(thread, seen));
}

/// Lines of sources by the address of a call, each asked for once.
class Places {
 public:
  explicit Places(const SourceLocator& locate) : locate_(locate) {}

  /// `, at halo.hip:12:3`; empty if that is not known.
  std::string of(const void* called_from) {
    const auto [known, first] = known_.try_emplace(called_from);
    if (first) known->second = place_of_call(locate_, called_from);
    return known->second.empty() ? "" : ", at " + known->second;
  }

 private:
  const SourceLocator& locate_;
  std::map<const void*, std::string> known_;
};

/// Where one block stands, and what keeps it from going on. Threads at a block sync are the cause only where nobody
/// else of the block is.
std::vector<std::string> causes(const Grid& grid, const Block& block, Places& places) {
  std::vector<std::string> found;
  std::map<std::string, std::size_t> polling;
  std::map<std::string, std::size_t> at_sync;
  for (const DeviceThread& thread : grid.threads_of(block)) {
    if (thread.state == ThreadState::waiting)
      found.push_back(places.of(thread.called_from) + ": " + describe_wait(thread));
    if (thread.state == ThreadState::ready) ++polling[places.of(thread.called_from)];
    if (thread.state == ThreadState::at_sync) ++at_sync[places.of(thread.called_from)];
  }
  for (const auto& [place, count] : polling)
    found.push_back(place + ": polls memory that nobody changes (" + count_of(count, "thread") + ")");
  if (!found.empty()) return found;
  for (const auto& [place, count] : at_sync) {
    found.push_back(place + ": stands at a block sync with " + count_of(count, "thread") + ", which " +
                    count_of(block.ended, "ended thread") + " will never reach");
  }
  return found;
}

Findings examine(const Grid& grid, Places& places) {
  Findings findings;
  for (const Block& block : grid.blocks) {
    for (std::string& cause : causes(grid, block, places)) {
      std::vector<std::uint32_t>& blocks = findings[std::move(cause)];
      if (blocks.empty() || blocks.back() != block.index) blocks.push_back(block.index);
    }
  }
  return findings;
}

}  // namespace

std::string describe_deadlock(const std::string& headline, std::span<const std::unique_ptr<Grid>> grids,
                              std::span<const RankActivity> ranks, const SourceLocator& locate) {
  std::vector<std::string> lines;
  Places places(locate);
  std::set<std::size_t> has_kernel;
  for (const auto& grid : grids) {
    has_kernel.insert(static_cast<std::size_t>(grid->rank));
    for (const auto& [cause, blocks] : examine(*grid, places)) {
      lines.push_back(grid->name + ", rank " + std::to_string(grid->rank) + ", " + name_blocks(blocks) + cause);
    }
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!has_kernel.contains(rank))
      lines.push_back("rank " + std::to_string(rank) + " runs no kernel; it " + ranks[rank].doing);
  }
  std::string text = headline;
  for (std::size_t i = 0; i < std::min(lines.size(), max_lines); ++i) text += "\n  " + lines[i];
  if (lines.size() > max_lines) text += "\n  … and " + std::to_string(lines.size() - max_lines) + " more";
  return text;
}

}  // namespace iris::host
