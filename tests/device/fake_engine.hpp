#pragma once

#include <functional>
#include <map>
#include <vector>

#include "iris/device/context.hpp"

namespace iris::device {

/// An engine of one thread at a time, without fibers: synchronisation returns at once, waits ask `on_wait`.
class FakeEngine {
 public:
  FakeEngine() {
    active_ = this;
    iris_host_engine = &table_;
  }
  ~FakeEngine() { iris_host_engine = nullptr; }
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;

  /// Runs `body` as one thread of one block. The body is a call of its own, so that indices are asked for afresh.
  void run(u32 block, u32 thread, const std::function<void()>& body) {
    block_ = block;
    thread_ = thread;
    body();
  }

  /// May change memory as another rank would. Default: nobody does.
  std::function<void(const u64* flag, u64 at_least, i32 peer, Wait what)> on_wait;
  int syncs = 0;
  int announced = 0;         ///< before_atomic less after_atomic: 0 between accesses
  std::vector<u32> changes;  ///< of each atomic access: did it change memory

 private:
  void* shared_memory(const void* key, u64 bytes) {
    auto& memory = shared_[key];
    memory.resize(bytes / sizeof(u64) + 2);
    return memory.data();
  }

  static inline FakeEngine* active_ = nullptr;
  static const Engine table_;

  u32 block_ = 0;
  u32 thread_ = 0;
  std::map<const void*, std::vector<u64>> shared_;
};

inline const Engine FakeEngine::table_ = {
    .thread_index = [] { return active_->thread_; },
    .block_index = [] { return active_->block_; },
    .shared = [](const void* key, u64 bytes, u64) { return active_->shared_memory(key, bytes); },
    .sync_block = [] { ++active_->syncs; },
    .sync_block_and =
        [](u32 predicate) {
          ++active_->syncs;
          return predicate;
        },
    .before_atomic = [](const void*) { ++active_->announced; },
    .after_atomic =
        [](const void*, u32 changed) {
          --active_->announced;
          active_->changes.push_back(changed);
        },
    .wait =
        [](const u64* flag, u64 at_least, i32 peer, Wait what) {
          if (active_->on_wait) active_->on_wait(flag, at_least, peer, what);
          return static_cast<u32>(static_cast<i64>(*flag - at_least) >= 0);
        },
    .nanoseconds = [] { return u64{0}; },
};

/// Heaps of several ranks in this process, each with flags, counts of launches, a workspace and room for a test's own
/// objects.
class FakeHeaps {
 public:
  explicit FakeHeaps(i32 world, i32 blocks = 1)
      : heaps_(static_cast<std::size_t>(world)), launches_(static_cast<std::size_t>(blocks)) {}

  Context context(i32 rank) {
    Context context = {};
    for (std::size_t peer = 0; peer < heaps_.size(); ++peer) context.bases[0][peer] = heaps_[peer].bytes;
    Heap& mine = heaps_[static_cast<std::size_t>(rank)];
    context.rank = rank;
    context.world = static_cast<i32>(heaps_.size());
    context.flags = mine.flags();
    context.launches = launches_.data();
    context.workspace = mine.bytes + workspace_offset;
    context.workspace_bytes = 512;
    context.fault = &fault;
    context.timeout_ns = 1;
    return context;
  }
  u64* flags(i32 rank) { return heaps_[static_cast<std::size_t>(rank)].flags(); }
  /// `index`-th T of the test's own part of a rank's heap.
  template <typename T>
  T* object(i32 rank, int index = 0) {
    return reinterpret_cast<T*>(heaps_[static_cast<std::size_t>(rank)].bytes + object_offset) + index;
  }

  Fault fault = {};

 private:
  static constexpr int workspace_offset = 256;
  static constexpr int object_offset = 1024;
  struct alignas(256) Heap {
    char bytes[4096] = {};
    u64* flags() { return reinterpret_cast<u64*>(bytes); }
  };
  std::vector<Heap> heaps_;
  std::vector<LaunchCount> launches_;
};

}  // namespace iris::device
