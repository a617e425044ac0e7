#include "runtime/host/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

namespace iris::host {

namespace {

constexpr std::size_t stacks_per_slab = 256;
constexpr std::size_t slab_bytes = stacks_per_slab * StackPool::stack_bytes;

/// Slabs of guarded stacks that no pool has. A world of few ranks that is made, launches and ends would spend half its
/// time on mapping, guarding and touching them. Without a lock: a process may be forked while another thread has it.
class SpareSlabs {
 public:
  /// Null if there is none.
  static void* take() {
    for (std::atomic<void*>& spare : spares) {
      if (void* const slab = spare.exchange(nullptr)) return slab;
    }
    return nullptr;
  }
  /// False if there are enough.
  static bool keep(void* slab) {
    return std::ranges::any_of(spares, [&](std::atomic<void*>& spare) {
      void* none = nullptr;
      return spare.compare_exchange_strong(none, slab);
    });
  }

 private:
  static inline std::array<std::atomic<void*>, 8> spares = {};  // 2048 stacks, in whose pages commonly are 16 MiB
};

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

char* stack_of(void* slab, std::size_t number) {
  return static_cast<char*>(slab) + number * StackPool::stack_bytes + page_bytes();
}

void* map_slab() {
  void* slab = ::mmap(nullptr, slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) {
    throw std::runtime_error("the CPU engine has no memory for the stacks of more device threads (" +
                             std::string(std::strerror(errno)) + "); launch fewer blocks or threads");
  }
  // Huge pages would make each small stack cost 2 MiB.
  ::madvise(slab, slab_bytes, MADV_NOHUGEPAGE);
  return slab;
}

/// False where a process has as many mappings as it may.
bool guard(void* slab) {
  for (std::size_t i = 0; i < stacks_per_slab; ++i) {
    if (::mprotect(stack_of(slab, i) - page_bytes(), page_bytes(), PROT_NONE) != 0) return false;
  }
  return true;
}

}  // namespace

std::size_t StackPool::usable_bytes() {
  return stack_bytes - page_bytes();
}

StackPool::~StackPool() {
  for (const Slab& slab : slabs_) {
    if (!slab.guarded || !SpareSlabs::keep(slab.memory)) ::munmap(slab.memory, slab_bytes);
  }
}

void StackPool::reserve(std::size_t stacks) {
  slabs_.reserve((stacks + stacks_per_slab - 1) / stacks_per_slab);
  free_.reserve(slabs_.capacity() * stacks_per_slab);
  while (slabs_.size() * stacks_per_slab < stacks) add_slab();
}

void StackPool::add_slab() {
  const bool guards = (slabs_.size() + 1) * stacks_per_slab <= guarded;
  void* const spare = guards ? SpareSlabs::take() : nullptr;
  void* const slab = spare != nullptr ? spare : map_slab();
  slabs_.push_back({slab, spare != nullptr || (guards && guard(slab))});
  for (std::size_t i = stacks_per_slab; i-- > 0;) free_.push_back(stack_of(slab, i));
}

char* StackPool::take() {
  char* stack = free_.back();
  free_.pop_back();
  return stack;
}

void StackPool::give_back(char* stack) {
  free_.push_back(stack);
}

bool StackPool::is_below(const char* stack, const void* address) {
  return std::less()(address, stack) && std::less_equal()(stack - page_bytes(), address);
}

}  // namespace iris::host
