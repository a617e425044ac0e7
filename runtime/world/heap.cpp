#include "runtime/world/heap.hpp"

#include <algorithm>
#include <iterator>
#include <ranges>

namespace iris {

namespace {

/// A hash of one allocation; the digest is their exclusive or, so that order does not matter.
std::uint64_t hash_of(std::size_t offset, std::size_t length) {
  std::uint64_t bits = offset * 0x9e3779b97f4a7c15u + length;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

}  // namespace

Heap::Heap(std::size_t bytes) : size_(bytes / alignment * alignment) {
  if (size_ > 0) free_.emplace(0, Block{size_, {}});
}

std::optional<std::size_t> Heap::allocate(std::size_t bytes, Owner owner) {
  if (bytes > size_) return std::nullopt;
  const std::size_t length = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  const auto found = std::ranges::find_if(free_, [&](const auto& block) { return block.second.length >= length; });
  if (found == free_.end()) return std::nullopt;
  const auto& [offset, block] = *found;
  if (block.length > length) free_.emplace(offset + length, Block{block.length - length, {}});
  Blocks::node_type node = free_.extract(found);
  node.mapped() = {length, owner};
  const std::size_t begin = allocated_.insert(std::move(node)).position->first;
  allocated_bytes_ += length;
  digest_ ^= hash_of(begin, length);
  return begin;
}

bool Heap::free(std::size_t offset, Owner owner) noexcept {
  const auto found = allocated_.find(offset);
  if (found == allocated_.end() || found->second.owner != owner) return false;
  allocated_bytes_ -= found->second.length;
  digest_ ^= hash_of(offset, found->second.length);

  const auto block = free_.insert(allocated_.extract(found)).position;
  const auto join = [this](Blocks::iterator first, Blocks::iterator second) {
    if (first->first + first->second.length != second->first) return;
    first->second.length += second->second.length;
    free_.erase(second);
  };
  if (const auto next = std::next(block); next != free_.end()) join(block, next);
  if (block != free_.begin()) join(std::prev(block), block);
  return true;
}

bool Heap::holds(std::size_t offset, std::size_t bytes, Owner owner) const {
  const auto behind = allocated_.upper_bound(offset);
  if (behind == allocated_.begin()) return false;
  const auto& [begin, block] = *std::prev(behind);
  const std::size_t before = offset - begin;
  return block.owner == owner && before < block.length && bytes <= block.length - before;
}

std::size_t Heap::largest_free() const {
  return free_.empty() ? 0 : std::ranges::max(free_ | std::views::values, {}, &Block::length).length;
}

}  // namespace iris
