#include "runtime/host/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>

namespace iris::host {

namespace {

constexpr std::size_t stacks_per_slab = 256;
constexpr std::size_t slab_bytes = stacks_per_slab * StackPool::stack_bytes;

/// Slabs of guarded stacks that no pool has. A world of few ranks that is made, launches and ends would spend half its
/// time on mapping, guarding and touching them.
class SpareSlabs {
 public:
  static SpareSlabs& of_process() {
    static SpareSlabs* const slabs = new SpareSlabs;  // outlives every pool
    return *slabs;
  }

  /// Null if there is none.
  void* take() {
    const std::lock_guard lock(mutex_);
    if (slabs_.empty()) return nullptr;
    void* const slab = slabs_.back();
    slabs_.pop_back();
    return slab;
  }
  /// False if there are enough.
  bool keep(void* slab) {
    constexpr std::size_t most = 8;  // 2048 stacks, in whose pages there may be 128 MiB, and commonly are 16
    const std::lock_guard lock(mutex_);
    if (slabs_.size() >= most) return false;
    slabs_.push_back(slab);
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<void*> slabs_;
};

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Whether that slab of a pool is, counted from 0.
bool is_guarded(std::size_t slab) {
  return (slab + 1) * stacks_per_slab <= StackPool::guarded;
}

char* stack_of(void* slab, std::size_t number) {
  return static_cast<char*>(slab) + number * StackPool::stack_bytes + page_bytes();
}

void* map_slab(bool guard) {
  void* slab = ::mmap(nullptr, slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) {
    throw std::runtime_error("the CPU engine has no memory for the stacks of more device threads (" +
                             std::string(std::strerror(errno)) + "); launch fewer blocks or threads");
  }
  // Huge pages would make each small stack cost 2 MiB.
  ::madvise(slab, slab_bytes, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; guard && i < stacks_per_slab; ++i) {
    ::mprotect(stack_of(slab, i) - page_bytes(), page_bytes(), PROT_NONE);
  }
  return slab;
}

}  // namespace

std::size_t StackPool::usable_bytes() {
  return stack_bytes - page_bytes();
}

StackPool::~StackPool() {
  for (std::size_t i = 0; i < slabs_.size(); ++i) {
    if (!is_guarded(i) || !SpareSlabs::of_process().keep(slabs_[i])) ::munmap(slabs_[i], slab_bytes);
  }
}

void StackPool::reserve(std::size_t stacks) {
  while (slabs_.size() * stacks_per_slab < stacks) {
    const bool guard = is_guarded(slabs_.size());
    void* const spare = guard ? SpareSlabs::of_process().take() : nullptr;
    slabs_.push_back(spare != nullptr ? spare : map_slab(guard));
    for (std::size_t i = stacks_per_slab; i-- > 0;) free_.push_back(stack_of(slabs_.back(), i));
  }
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
