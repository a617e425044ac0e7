#include "runtime/host/grid.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace iris::host {

namespace {
constexpr int uninitialised = 0xff;
}

void* SharedMemory::get(const void* key, std::size_t bytes, std::size_t alignment) {
  for (const Object& object : objects_) {
    if (object.key == key) return object.memory.get();
  }
  const std::align_val_t align{std::max(alignment, alignof(std::max_align_t))};
  auto* memory = static_cast<std::byte*>(::operator new[](std::max<std::size_t>(bytes, 1), align));
  std::memset(memory, uninitialised, bytes);
  objects_.push_back({key, {memory, Release{align}}});
  return memory;
}

LaunchArguments::LaunchArguments(std::span<const ArgumentBytes> arguments) {
  constexpr std::size_t unit = sizeof(std::max_align_t);
  std::size_t units = 0;
  for (const ArgumentBytes& argument : arguments) units += (argument.size + unit - 1) / unit;
  storage_ = std::make_unique<std::max_align_t[]>(units);
  std::max_align_t* next = storage_.get();
  for (const ArgumentBytes& argument : arguments) {
    std::memcpy(next, argument.data, argument.size);
    pointers_.push_back(next);
    next += (argument.size + unit - 1) / unit;
  }
}

Grid::Grid(std::string kernel, int of_rank, Entry kernel_entry, LaunchArguments kernel_arguments, int block_count,
           int thread_count, std::uint64_t kernel_timeout_ns)
    : name(std::move(kernel)),
      rank(of_rank),
      entry(kernel_entry),
      arguments(std::move(kernel_arguments)),
      threads_per_block(thread_count),
      blocks(static_cast<std::size_t>(block_count)),
      threads(std::make_unique<DeviceThread[]>(static_cast<std::size_t>(block_count) *
                                               static_cast<std::size_t>(thread_count))),
      unfinished(static_cast<std::size_t>(block_count) * static_cast<std::size_t>(thread_count)),
      timeout_ns(kernel_timeout_ns) {
  std::uint32_t index = 0;
  for (Block& block : blocks) {
    block.grid = this;
    block.index = index++;
    std::uint32_t thread_index = 0;
    for (DeviceThread& thread : threads_of(block)) {
      thread.block = &block;
      thread.index = thread_index++;
    }
  }
}

}  // namespace iris::host
