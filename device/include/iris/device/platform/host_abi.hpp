#pragma once

#include <iris/device/abi.hpp>

/// The table of functions that the CPU engine (runtime/host) offers to a kernel compiled for `host`. Every thread of
/// every block of every rank is a fiber; fibers change only inside these functions. The shared library of a kernel
/// exports the variable `iris_host_engine`, which its loader points at a table that outlives every launch.
namespace iris::device {

struct Engine {
  /// Of the calling fiber. The answers never change during the fiber's life.
  u32 (*thread_index)();
  u32 (*block_index)();

  /// The block's own memory for `key` (the address of a variable that stands for one shared object): at least `bytes`
  /// long, aligned to `alignment`, the same for all threads of the block, gone with the launch. Not cleared.
  void* (*shared)(const void* key, u64 bytes, u64 alignment);

  /// Returns once every thread of the block has called it. A block whose other threads ended or wait elsewhere for good
  /// is a deadlock.
  void (*sync_block)();
  /// As sync_block; returns 1 if every thread passed non-zero, else 0.
  u32 (*sync_block_and)(u32 predicate);

  /// Called before each atomic access (load, store, read-modify-write of any scope): the place where fibers
  /// interleave. May run other fibers before it returns.
  void (*before_atomic)(const void* address);
  /// Called after each atomic access; `changed` is 1 if it altered memory. Never switches fibers. When all fibers that
  /// can run only make accesses that change nothing, they poll in vain.
  void (*after_atomic)(const void* address, u32 changed);

  /// Parks the fiber until *flag has reached `at_least` (signed difference, so that flags may wrap around) and returns
  /// 1; returns 0 if that cannot happen any more (nobody can run, or the launch is being abandoned). `peer` and `what`
  /// are for the report. Acquires what the peer's release store published.
  u32 (*wait)(const u64* flag, u64 at_least, i32 peer, Wait what);

  /// A clock for measurements; not repeatable from run to run.
  u64 (*nanoseconds)();
};

}  // namespace iris::device
