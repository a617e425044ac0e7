#pragma once

#include <iris/device/types.hpp>

/// What the host hands to a kernel and what a kernel hands back. These structs are the whole binary interface between
/// runtime/ and an emitted kernel; both sides include this file, so a change here is a change of the ABI and of
/// `abi_version`, which every manifest carries.
namespace iris::device {

inline constexpr i32 abi_version = 18;

/// Ranks that one Context can address.
inline constexpr i32 max_world = 16;

/// Ranges of adopted memory that the symmetric buffers of one launch may lie in, beside the heap.
inline constexpr i32 max_windows = 4;

/// What a rank was waiting for when a bounded wait ran out. Names for people: runtime/system/fault.hpp, which calls one
/// that it does not know a signal: another kind of wait is no other ABI.
enum class Wait : u32 {
  none = 0,
  entry = 1,    ///< the peer has entered the collective: its inputs are ready, its outputs may be overwritten
  arrival = 2,  ///< the peer's contribution has arrived in this rank's memory
  exit = 3,     ///< the peer has finished reading from this rank and writing to it
  step = 4,     ///< the peer's next step of a pipeline (a ring's chunk, a fused kernel's tile)
  barrier = 5,  ///< the peer has come to the barrier between two steps of an operation
  lock = 6,     ///< the peer's lock, which a third rank may hold, is free
  line = 7,     ///< as arrival, in lines that carry their own marks: what is waited for is a mark above elements
};

/// Written once, by the first wait of a launch that runs out of time, but for `overlapped`. Lives in host memory that
/// the device can write.
struct Fault {
  u32 raised;    ///< 0 or 1; claimed by atomic exchange, the other members are written before `complete`
  u32 complete;  ///< 1 once every other member is valid
  i32 rank;      ///< who waited
  i32 block;
  i32 peer;  ///< for whom
  Wait wait;
  u64 expected;  ///< the flag value waited for: at least this
  u64 seen;      ///< the flag value last read
  /// 1 once a launch has begun before the one before it had ended, with or without a wait that ran out of time: they
  /// shared flags and workspace.
  u32 overlapped;
};

/// A block's launches of a kernel.
struct LaunchCount {
  u64 completed;
  u32 begun;  ///< modulo 2^32
};

/// Low bits of a flag, which count the steps of a launch; the bits above count launches, so that whatever a flag shows
/// in one launch is more than it showed in any before. 2^24 steps a launch; launches wrap around after 2^40.
inline constexpr i32 flag_step_bits = 24;

/// The first argument of every kernel, by value, and so are its windows: ranges of symmetric memory, of which number 0
/// is the heap, and the others are the adopted memory that this launch's buffers lie in. A table of them in memory
/// would cost a kernel a load before its first store, and could not be changed while a captured launch may yet read it.
struct Context {
  i32 rank;
  i32 world;
  u64* flags;             ///< symmetric; as many as the manifest says, zero at first, only ever counted up
  LaunchCount* launches;  ///< one per block, zero at first: no host's help in a replayed graph
  char* workspace;        ///< symmetric; 256-byte aligned; zero at first
  u64 workspace_bytes;    ///< two ping-pong buffers of half of this, 256-byte aligned, used by alternate launches
  Fault* fault;
  u64 timeout_ns;  ///< bound of each wait
  i32 windows;     ///< beside the heap; mostly 0
  /// Where each rank's part of a window begins, as addressable from this rank. One array, so that a kernel chooses by
  /// an index: of pointers into its arguments compilers make a copy on the stack.
  char* bases[1 + max_windows][max_world];
  u64 bytes[1 + max_windows];  ///< of each rank's part; the heap's is not given
};

/// A matrix as NVIDIA's tensor memory accelerator reads it: a CUtensorMap of two dimensions (columns, rows). Encoded by
/// the host for each launch, passed by value after the buffers.
struct alignas(128) TensorMap {
  u64 words[16];
};

}  // namespace iris::device
