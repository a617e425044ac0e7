#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace iris {

/// Who frees an allocation: the user of a group, or one of its operations.
struct Owner {
  enum class Kind { user, operation };
  Kind kind = Kind::user;
  int group = 0;                ///< as the rank numbers its groups; 0 is that of all ranks
  std::uint32_t members = ~0U;  ///< of that group: a bit for each rank of the world
};

/// What a heap gives out is found in blocks like this one. Both are multiples of Heap::alignment.
struct FreeBlock {
  std::size_t offset = 0;
  std::size_t length = 0;
  bool operator==(const FreeBlock&) const = default;
};

/// What a group holds of a rank's heap. Equal on ranks that have allocated and freed the same, in whatever order.
struct Holdings {
  std::size_t allocations = 0;
  std::size_t bytes = 0;
  std::uint64_t digest = 0;
};

/// The bookkeeping of one rank's symmetric heap: offsets into an arena, no memory of its own. Heaps differ where ranks
/// are of different groups; those of a group's members agree on an offset by common_blocks() and first_fit(). Blocks
/// are in order of offsets, and neighbouring free blocks are joined.
class Heap {
 public:
  static constexpr std::size_t alignment = 256;

  explicit Heap(std::size_t bytes);

  /// Those that are free once what the group has freed is released.
  std::vector<FreeBlock> free_blocks(int group) const;
  /// Takes so many bytes (at least one unit of alignment) that are free. False if they are not.
  bool allocate_at(std::size_t offset, std::size_t bytes, const Owner& owner = {});
  /// The owner has it no longer; nobody is given it before release(), since other members may not have freed it yet.
  /// False if no allocation of this owner begins at this offset. Takes no memory: destructors call it.
  bool free(std::size_t offset, const Owner& owner = {}) noexcept;
  /// All members of the group have freed what this rank has.
  void release(int group) noexcept;

  /// Whether [offset, offset + bytes) lies within one allocation of a user of a group that has all these members.
  bool holds(std::size_t offset, std::size_t bytes, std::uint32_t members = 0) const;
  Holdings holdings(int group) const;

  std::size_t size() const { return size_; }
  /// Behind the last allocation, or what is freed and not released.
  std::size_t end_of_use() const;
  /// Freed, and not released.
  std::size_t unreleased_bytes() const;

 private:
  struct Block {
    std::size_t length;
    Owner owner;
    bool is_freed = false;
  };
  using Blocks = std::map<std::size_t, Block>;  // by offset

  void join_neighbours(Blocks::iterator block) noexcept;

  std::size_t size_;
  Blocks free_;
  Blocks allocated_;  // or freed, and not released
  std::map<int, Holdings> holdings_;
};

/// What is free in all of these heaps.
std::vector<FreeBlock> common_blocks(std::span<const std::vector<FreeBlock>> heaps);

/// The lowest offset at which so many bytes are free; nothing if no block is long enough.
std::optional<std::size_t> first_fit(std::span<const FreeBlock> blocks, std::size_t bytes);

}  // namespace iris
