#include "runtime/world/heap.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/system/whole_units.hpp"

namespace iris {

namespace {

/// A hash of one allocation; the digest is their exclusive or, so that order does not matter.
std::uint64_t hash_of(std::size_t offset, std::size_t length) {
  std::uint64_t bits = offset * 0x9e3779b97f4a7c15u + length;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

std::vector<FreeBlock> common_blocks(std::span<const FreeBlock> first, std::span<const FreeBlock> second) {
  std::vector<FreeBlock> common;
  while (!first.empty() && !second.empty()) {
    const std::size_t begin = std::max(first.front().offset, second.front().offset);
    const std::size_t first_end = first.front().offset + first.front().length;
    const std::size_t second_end = second.front().offset + second.front().length;
    const std::size_t end = std::min(first_end, second_end);
    if (begin < end) common.push_back({begin, end - begin});
    if (first_end == end) first = first.subspan(1);
    if (second_end == end) second = second.subspan(1);
  }
  return common;
}

}  // namespace

Heap::Heap(std::size_t bytes) : size_(bytes / alignment * alignment) {
  if (size_ > 0) free_.emplace(0, Block{size_, {}});
}

std::vector<FreeBlock> Heap::free_blocks(int group) const {
  std::vector<FreeBlock> blocks;
  for (const auto& [offset, block] : free_) blocks.push_back({offset, block.length});
  for (const auto& [offset, block] : allocated_) {
    if (block.is_freed && block.owner.group == group) blocks.push_back({offset, block.length});
  }
  std::ranges::sort(blocks, {}, &FreeBlock::offset);
  std::vector<FreeBlock> joined;
  for (const FreeBlock& block : blocks) {
    const bool follows = !joined.empty() && joined.back().offset + joined.back().length == block.offset;
    if (follows)
      joined.back().length += block.length;
    else
      joined.push_back(block);
  }
  return joined;
}

bool Heap::allocate_at(std::size_t offset, std::size_t bytes, const Owner& owner) {
  const auto behind = free_.upper_bound(offset);
  if (behind == free_.begin() || bytes > size_) return false;
  const auto found = std::prev(behind);
  const std::size_t before = offset - found->first;
  const std::size_t length = whole_units(bytes, alignment);
  if (before >= found->second.length || length > found->second.length - before) return false;

  // What may take memory comes first: a heap that has none stays as it was.
  Holdings& holdings = holdings_[owner.group];
  Blocks rest;
  const std::size_t behind_it = found->second.length - before - length;
  if (behind_it > 0) rest.emplace(offset + length, Block{behind_it, {}});
  allocated_.emplace(offset, Block{length, owner});
  free_.merge(rest);
  found->second.length = before;
  if (before == 0) free_.erase(found);
  ++holdings.allocations;
  holdings.bytes += length;
  holdings.digest ^= hash_of(offset, length);
  return true;
}

bool Heap::free(std::size_t offset, const Owner& owner) noexcept {
  const auto found = allocated_.find(offset);
  if (found == allocated_.end() || found->second.is_freed) return false;
  Block& block = found->second;
  if (block.owner.kind != owner.kind || block.owner.group != owner.group) return false;
  block.is_freed = true;
  Holdings& holdings = holdings_.find(owner.group)->second;
  --holdings.allocations;
  holdings.bytes -= block.length;
  holdings.digest ^= hash_of(offset, block.length);
  return true;
}

void Heap::release(int group) noexcept {
  for (auto next = allocated_.begin(); next != allocated_.end();) {
    const auto block = next++;
    if (!block->second.is_freed || block->second.owner.group != group) continue;
    join_neighbours(free_.insert(allocated_.extract(block)).position);
  }
}

void Heap::join_neighbours(Blocks::iterator block) noexcept {
  const auto join = [this](Blocks::iterator first, Blocks::iterator second) {
    if (first->first + first->second.length != second->first) return;
    first->second.length += second->second.length;
    free_.erase(second);
  };
  if (const auto next = std::next(block); next != free_.end()) join(block, next);
  if (block != free_.begin()) join(std::prev(block), block);
}

bool Heap::holds(std::size_t offset, std::size_t bytes, std::uint32_t members) const {
  const auto behind = allocated_.upper_bound(offset);
  if (behind == allocated_.begin()) return false;
  const auto& [begin, block] = *std::prev(behind);
  const std::size_t before = offset - begin;
  const bool is_theirs =
      !block.is_freed && block.owner.kind == Owner::Kind::user && (block.owner.members & members) == members;
  return is_theirs && before < block.length && bytes <= block.length - before;
}

Holdings Heap::holdings(int group) const {
  const auto found = holdings_.find(group);
  return found == holdings_.end() ? Holdings() : found->second;
}

std::size_t Heap::end_of_use() const {
  if (allocated_.empty()) return 0;
  const auto& [offset, block] = *allocated_.rbegin();
  return offset + block.length;
}

std::size_t Heap::unreleased_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [offset, block] : allocated_) bytes += block.is_freed ? block.length : 0;
  return bytes;
}

std::vector<FreeBlock> common_blocks(std::span<const std::vector<FreeBlock>> heaps) {
  std::vector<FreeBlock> common = heaps.front();
  for (const std::vector<FreeBlock>& heap : heaps.subspan(1)) common = common_blocks(common, heap);
  return common;
}

std::optional<std::size_t> first_fit(std::span<const FreeBlock> blocks, std::size_t bytes) {
  const auto found = std::ranges::find_if(
      blocks, [&](const FreeBlock& block) { return block.length >= std::max<std::size_t>(bytes, 1); });
  if (found == blocks.end()) return std::nullopt;
  return found->offset;
}

}  // namespace iris
