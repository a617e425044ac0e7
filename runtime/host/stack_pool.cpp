#include "runtime/host/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>

namespace iris::host {

namespace {

constexpr std::size_t stacks_per_slab = 256;
constexpr std::size_t slab_bytes = stacks_per_slab * StackPool::stack_bytes;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

std::size_t StackPool::usable_bytes() {
  return stack_bytes - page_bytes();
}

StackPool::~StackPool() {
  for (void* slab : slabs_) ::munmap(slab, slab_bytes);
}

void StackPool::reserve(std::size_t stacks) {
  while (slabs_.size() * stacks_per_slab < stacks) map_slab();
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

void StackPool::map_slab() {
  void* slab = ::mmap(nullptr, slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) {
    throw std::runtime_error("the CPU engine has no memory for the stacks of more device threads (" +
                             std::string(std::strerror(errno)) + "); launch fewer blocks or threads");
  }
  // Huge pages would make each small stack cost 2 MiB.
  ::madvise(slab, slab_bytes, MADV_NOHUGEPAGE);
  const bool guard = (slabs_.size() + 1) * stacks_per_slab <= guarded;
  slabs_.push_back(slab);
  for (std::size_t i = stacks_per_slab; i-- > 0;) {
    char* base = static_cast<char*>(slab) + i * stack_bytes;
    if (guard) ::mprotect(base, page_bytes(), PROT_NONE);
    free_.push_back(base + page_bytes());
  }
}

}  // namespace iris::host
