#include "runtime/host/deadlock.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/system/fault.hpp"

namespace iris::host {

namespace {

constexpr std::size_t max_lines = 24;
constexpr std::size_t max_ranges = 8;

/// What the blocks of one grid wait for, in words, and which blocks those are.
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

std::string describe_wait(const DeviceThread& thread) {
  const device::u64 seen = __atomic_load_n(thread.flag, __ATOMIC_RELAXED);
  return "waits for rank " + std::to_string(thread.peer) + " " + std::string(describe(thread.what)) + "; expected " +
         describe_flag(thread.at_least) + ", saw " + describe_flag(seen);
}

/// What keeps one block from going on. Threads at a block sync are the cause only where nobody else of the block is.
std::vector<std::string> causes(const Grid& grid, const Block& block) {
  std::vector<std::string> found;
  std::size_t polling = 0;
  for (const DeviceThread& thread : grid.threads_of(block)) {
    if (thread.state == ThreadState::waiting) found.push_back(describe_wait(thread));
    if (thread.state == ThreadState::ready) ++polling;
  }
  if (polling > 0) found.push_back("polls memory that nobody changes (" + count_of(polling, "thread") + ")");
  if (found.empty() && !block.at_sync.empty()) {
    found.push_back("stands at a block sync with " + count_of(block.at_sync.size(), "thread") + ", which " +
                    count_of(block.ended, "ended thread") + " will never reach");
  }
  return found;
}

Findings examine(const Grid& grid) {
  Findings findings;
  for (const Block& block : grid.blocks) {
    for (std::string& cause : causes(grid, block)) {
      std::vector<std::uint32_t>& blocks = findings[std::move(cause)];
      if (blocks.empty() || blocks.back() != block.index) blocks.push_back(block.index);
    }
  }
  return findings;
}

}  // namespace

std::string describe_deadlock(std::span<const std::unique_ptr<Grid>> grids, std::span<const RankActivity> ranks) {
  std::vector<std::string> lines;
  std::vector<bool> has_kernel(ranks.size(), false);
  for (const auto& grid : grids) {
    has_kernel[static_cast<std::size_t>(grid->rank)] = true;
    for (const auto& [cause, blocks] : examine(*grid)) {
      lines.push_back(grid->name + ", rank " + std::to_string(grid->rank) + ", " + name_blocks(blocks) + ": " + cause);
    }
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!has_kernel[rank]) lines.push_back("rank " + std::to_string(rank) + " runs no kernel; it " + ranks[rank].doing);
  }
  std::string text = "deadlock: no thread of any kernel can go on";
  for (std::size_t i = 0; i < std::min(lines.size(), max_lines); ++i) text += "\n  " + lines[i];
  if (lines.size() > max_lines) text += "\n  … and " + std::to_string(lines.size() - max_lines) + " more";
  return text;
}

}  // namespace iris::host
