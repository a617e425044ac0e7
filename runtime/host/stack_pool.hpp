#pragma once

#include <cstddef>
#include <vector>

namespace iris::host {

/// Stacks for fibers, mapped in slabs and kept for reuse, some of them for other pools once this one ends. The first
/// `guarded` stacks have an inaccessible page below them, so that an overflow is a crash at once rather than a
/// corrupted neighbour; more would exhaust the kernel's limit on mappings (65530 by default, two for each guarded
/// stack).
class StackPool {
 public:
  static constexpr std::size_t stack_bytes = std::size_t{64} << 10;
  static constexpr std::size_t guarded = 16384;

  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  /// Makes sure that this many stacks exist. Throws std::runtime_error when memory is exhausted.
  void reserve(std::size_t stacks);
  /// The lowest usable address of a stack of usable_bytes. One must be left of those reserved.
  char* take();
  void give_back(char* stack);

  static std::size_t usable_bytes();
  /// Whether that is in the page below a stack that was taken, where one that overflows comes first.
  static bool is_below(const char* stack, const void* address);

 private:
  struct Slab {
    void* memory;
    bool guarded;  ///< each of its stacks
  };

  void add_slab();

  std::vector<Slab> slabs_;
  std::vector<char*> free_;
};

}  // namespace iris::host
