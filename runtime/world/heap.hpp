#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace iris {

/// Who frees an allocation.
enum class Owner { user, operation };

/// The bookkeeping of one rank's symmetric heap: offsets into an arena, no memory of its own. First fit, neighbouring
/// free blocks joined. Two heaps that hold the same allocations answer the next request with the same offset, whatever
/// happened before.
class Heap {
 public:
  static constexpr std::size_t alignment = 256;

  explicit Heap(std::size_t bytes);

  /// The offset of so many bytes (at least one unit of alignment), or nothing if no free block is long enough.
  std::optional<std::size_t> allocate(std::size_t bytes, Owner owner = Owner::user);
  /// False if no allocation of this owner begins at this offset. Takes no memory: destructors call it.
  bool free(std::size_t offset, Owner owner = Owner::user) noexcept;
  /// Whether [offset, offset + bytes) lies within one allocation of this owner.
  bool holds(std::size_t offset, std::size_t bytes, Owner owner = Owner::user) const;

  /// Of what is allocated, where. Equal for equal heaps, in whatever order they came to be so.
  std::uint64_t digest() const { return digest_; }

  std::size_t size() const { return size_; }
  std::size_t allocated_bytes() const { return allocated_bytes_; }
  std::size_t allocations() const { return allocated_.size(); }
  std::size_t free_bytes() const { return size_ - allocated_bytes_; }
  std::size_t largest_free() const;

 private:
  std::size_t size_;
  std::size_t allocated_bytes_ = 0;
  std::uint64_t digest_ = 0;
  struct Block {
    std::size_t length;
    Owner owner;  // once it is allocated
  };
  using Blocks = std::map<std::size_t, Block>;  // by offset
  Blocks free_;
  Blocks allocated_;
};

}  // namespace iris
