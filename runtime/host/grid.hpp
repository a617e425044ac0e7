#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "iris/device.hpp"
#include "iris/device/abi.hpp"
#include "runtime/host/fiber.hpp"

namespace iris::host {

/// `<symbol>_host` of a kernel's shared library: unpacks one pointer per argument and calls the kernel.
using Entry = void (*)(void* const* arguments);

struct Block;
struct Grid;

enum class ThreadState : std::uint8_t {
  ready,    ///< can run: not begun, or interrupted at an atomic access
  at_sync,  ///< waits for the rest of its block
  waiting,  ///< waits for a flag
  ended,
};

/// One device thread of a running kernel.
struct DeviceThread : Fiber {
  Block* block = nullptr;
  std::uint32_t index = 0;
  ThreadState state = ThreadState::ready;

  // While waiting, and for the report.
  const device::u64* flag = nullptr;
  device::u64 at_least = 0;
  std::int32_t peer = 0;  ///< of the world
  device::Wait what = device::Wait::none;

  /// Where the kernel last called the engine, for the report.
  const void* called_from = nullptr;

  /// Of the last atomic access, if it changed nothing: what a thread that polls polls.
  const void* polled = nullptr;
};

/// A block's shared objects, by key. Filled with a pattern that is NaN as a float, since GPUs do not clear them either.
class SharedMemory {
 public:
  void* get(const void* key, std::size_t bytes, std::size_t alignment);

 private:
  struct Release {
    std::align_val_t alignment;
    void operator()(std::byte* memory) const { ::operator delete[](memory, alignment); }
  };
  struct Object {
    const void* key;
    std::unique_ptr<std::byte[], Release> memory;
  };
  std::vector<Object> objects_;
};

struct Block {
  Grid* grid = nullptr;
  std::uint32_t index = 0;
  std::uint32_t ended = 0;
  std::vector<DeviceThread*> at_sync;
  bool all = true;      ///< of the predicates given to the block sync under way
  bool outcome = true;  ///< of the last completed one; read by all before the next can complete
  SharedMemory shared;
};

/// The arguments of a launch, copied, and one pointer to each.
class LaunchArguments {
 public:
  explicit LaunchArguments(std::span<const ArgumentBytes> arguments);
  void* const* pointers() const { return pointers_.data(); }

 private:
  std::unique_ptr<std::max_align_t[]> storage_;
  std::vector<void*> pointers_;
};

/// One launch: its blocks and threads while it runs.
struct Grid {
  Grid(std::string name, int rank, Entry entry, LaunchArguments arguments, int blocks, int threads,
       std::uint64_t timeout_ns = 0);

  std::size_t thread_count() const { return blocks.size() * static_cast<std::size_t>(threads_per_block); }
  std::span<DeviceThread> threads_of(const Block& block) const {
    return {threads.get() + block.index * static_cast<std::size_t>(threads_per_block),
            static_cast<std::size_t>(threads_per_block)};
  }

  /// Of the world. A kernel may name a peer that there is not.
  int world_rank(int peer) const {
    return peer >= 0 && peer < std::ssize(ranks) ? ranks[static_cast<std::size_t>(peer)] : peer;
  }

  std::string name;
  int rank;                ///< of the world
  std::vector<int> ranks;  ///< of the world, by those that the kernel knows; empty: the same
  Entry entry;
  LaunchArguments arguments;
  int threads_per_block;
  std::vector<Block> blocks;
  std::unique_ptr<DeviceThread[]> threads;
  std::size_t unfinished;    ///< threads
  std::uint64_t timeout_ns;  ///< of waits for other processes; 0: not given
};

}  // namespace iris::host
