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
  if (size_ > 0) free_.emplace(0, size_);
}

std::optional<std::size_t> Heap::allocate(std::size_t bytes, Owner owner) {
  if (bytes > size_) return std::nullopt;
  const std::size_t length = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  const auto block = std::ranges::find_if(free_, [&](const auto& candidate) { return candidate.second >= length; });
  if (block == free_.end()) return std::nullopt;
  const auto [offset, available] = *block;
  free_.erase(block);
  if (available > length) free_.emplace(offset + length, available - length);
  allocated_.emplace(offset, Allocation{length, owner});
  allocated_bytes_ += length;
  digest_ ^= hash_of(offset, length);
  return offset;
}

bool Heap::free(std::size_t offset, Owner owner) {
  const auto found = allocated_.find(offset);
  if (found == allocated_.end() || found->second.owner != owner) return false;
  const std::size_t length = found->second.length;
  allocated_.erase(found);
  allocated_bytes_ -= length;
  digest_ ^= hash_of(offset, length);

  auto block = free_.emplace(offset, length).first;
  if (const auto next = std::next(block); next != free_.end() && block->first + block->second == next->first) {
    block->second += next->second;
    free_.erase(next);
  }
  if (block != free_.begin()) {
    const auto previous = std::prev(block);
    if (previous->first + previous->second == block->first) {
      previous->second += block->second;
      free_.erase(block);
    }
  }
  return true;
}

bool Heap::holds(std::size_t offset, std::size_t bytes, Owner owner) const {
  const auto behind = allocated_.upper_bound(offset);
  if (behind == allocated_.begin()) return false;
  const auto& [begin, allocation] = *std::prev(behind);
  const std::size_t before = offset - begin;
  return allocation.owner == owner && before < allocation.length && bytes <= allocation.length - before;
}

std::size_t Heap::largest_free() const {
  return free_.empty() ? 0 : std::ranges::max(free_ | std::views::values);
}

}  // namespace iris
