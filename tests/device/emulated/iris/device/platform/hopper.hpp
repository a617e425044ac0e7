#pragma once

#include <iris/device/numeric.hpp>
#include <iris/device/platform/matrix_descriptor.hpp>
#include <iris/device/platform/meeting.hpp>
#include <iris/device/types.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

/// What platform/hopper.hpp offers, on the CPU: stands in its place in tests, so that the main loop of sm_90a runs on
/// fibers. After "Parallel Thread Execution ISA", not after that header: barriers in shared memory, copies by tensor
/// maps, operands swizzled in shared memory, the order of sums in registers. What is asynchronous there happens at once
/// here, but for copies to memory, which come as late as they may: two of the orders that the GPU may choose.
namespace iris::device::platform {

/// An operand as its tensor map describes it, in the map's words.
struct EmulatedMap {
  const char* data;
  u64 rows;
  u64 row_bytes;
  u64 box_rows;
  u64 element_bytes;
};
static_assert(sizeof(EmulatedMap) <= sizeof(TensorMap));

inline TensorMap emulated_map(const EmulatedMap& map) {
  TensorMap words = {};
  __builtin_memcpy(words.words, &map, sizeof(map));
  return words;
}

namespace emulated {

struct Block {
  Meeting warps[12];
  Meeting warpgroups[3];
  Meeting groups[16];
  void* rows[12][32];  // that the threads of a warp name
  const char* window;  // what descriptors' addresses are counted from
  u32 pauses;          // of threads that ask for copies
};
inline Block& block() {
  return shared<Block>();
}

inline bool meet_warp(bool mine) {
  return block().warps[thread_index() / 32].meet(mine, 32);
}
inline void meet_warpgroup() {
  block().warpgroups[thread_index() / 128].meet(true, 128);
}

/// A barrier in shared memory.
struct Barrier {
  u64 bits;

  i64 field(int first, int width) const { return static_cast<i64>(bits >> first & ((u64{1} << width) - 1)); }
  i64 phase() const { return field(0, 1); }
  i64 arrivals() const { return field(1, 10); }
  i64 missing() const { return field(11, 10); }
  i64 bytes() const { return static_cast<i64>(bits) >> 21; }  // announced, less those that have come
  static u64 of(i64 phase, i64 arrivals, i64 missing, i64 bytes) {
    return static_cast<u64>(bytes) << 21 | static_cast<u64>(missing << 11 | arrivals << 1 | phase);
  }
};

inline void change(u64& barrier, i64 arrived, i64 bytes) {
  update(&barrier, [&](u64 bits) {
    const Barrier before = {bits};
    const i64 missing = before.missing() - arrived;
    const i64 coming = before.bytes() + bytes;
    if (missing != 0 || coming != 0) return Barrier::of(before.phase(), before.arrivals(), missing, coming);
    return Barrier::of(before.phase() ^ 1, before.arrivals(), before.arrivals(), 0);
  });
}

/// Copies to memory that a thread has asked for and that have not been made, in groups of which the last is open.
class CopiesOut {
 public:
  void add(void* to, const void* from, u32 bytes) {
    groups_.back().push_back({static_cast<char*>(to), static_cast<const char*>(from), bytes, {}});
  }
  void commit() { groups_.emplace_back(); }
  /// All but the last `pending` groups.
  void read(std::size_t pending) {
    for (std::size_t group = 0; group + pending + 1 < groups_.size(); ++group) {
      for (Copy& copy : groups_[group]) {
        if (copy.read.empty()) copy.read.assign(copy.from, copy.from + copy.bytes);
      }
    }
  }
  void write(std::size_t pending) {
    read(pending);
    for (; groups_.size() > pending + 1; groups_.erase(groups_.begin())) {
      for (const Copy& copy : groups_.front()) __builtin_memcpy(copy.to, copy.read.data(), copy.bytes);
    }
  }

 private:
  struct Copy {
    char* to;
    const char* from;
    u32 bytes;
    std::vector<char> read;
  };
  std::vector<std::vector<Copy>> groups_ = std::vector<std::vector<Copy>>(1);
};

inline CopiesOut& copies_out() {
  static std::map<std::pair<const Block*, int>, CopiesOut> of_threads;
  return of_threads[{&block(), thread_index()}];
}

/// What a launch's stream has before it: threads that have waited for its end, and what is read before.
struct Stream {
  u64 awaited_rows = 0;  // of the matrix that it writes
  bool is_read_early = false;
  int early_boxes = 0;  // of other matrices
  std::set<std::pair<i64, int>> waited = {};

  static std::pair<i64, int> reader() { return {block_index(), thread_index()}; }
  /// A box of a matrix of so many rows.
  void read(u64 rows) {
    if (waited.contains(reader())) return;
    if (rows == awaited_rows) {
      is_read_early = true;
    } else {
      ++early_boxes;
    }
  }
};

inline Stream& stream() {
  static Stream one;
  return one;
}

/// Where a byte of a swizzled operand is.
inline u64 swizzled(u64 address) {
  return address ^ (address >> 7 & 7) << 4;
}

template <typename T>
f32 load_operand(const char* window, u64 address) {
  T value;
  __builtin_memcpy(&value, window + swizzled(address), sizeof(T));
  if constexpr (sizeof(T) == sizeof(tf32)) value.bits &= ~0x1fffU;  // they are not looked at
  return convert<f32>(value);
}

struct Descriptor {
  u64 bits;

  u64 start() const { return (bits & 0x3fff) << 4; }
  u64 leading() const { return (bits >> 16 & 0x3fff) << 4; }
  u64 stride() const { return (bits >> 32 & 0x3fff) << 4; }
  bool is_swizzled_by_128() const { return bits >> 62 == 1 && (bits >> 49 & 7) == 0; }

  /// Contiguous along k: element k of a row.
  u64 along_k(u64 row, u64 byte) const { return start() + row / 8 * stride() + row % 8 * 128 + byte; }
  /// Contiguous along n, of 16 bits: panels of 64 columns.
  u64 along_n(u64 k, u64 n) const { return start() + n / 64 * leading() + k / 8 * stride() + k % 8 * 128 + n % 64 * 2; }
};

}  // namespace emulated

/// Counted from a window of 256 KiB that has the block's barriers near its end, and what lies before them in it.
inline u32 shared_address(const void* object) {
  return static_cast<u32>(static_cast<const char*>(object) - emulated::block().window);
}

inline void init_barrier(u64& barrier, u32 arrivals) {
  constexpr u64 reach = u64{240} << 10;
  const u64 address = reinterpret_cast<u64>(&barrier);
  emulated::block().window = reinterpret_cast<const char*>((address - reach) / 1024 * 1024);
  barrier = emulated::Barrier::of(0, arrivals, arrivals, 0);
}
inline void publish_barriers() {
  auto& block = emulated::block();
  for (auto& warp : block.warps) warp = {};
  for (auto& warpgroup : block.warpgroups) warpgroup = {};
  for (auto& group : block.groups) group = {};
}
inline void arrive(u64& barrier) {
  emulated::change(barrier, 1, 0);
}
inline void arrive_and_expect(u64& barrier, u32 bytes) {
  emulated::change(barrier, 1, bytes);
}
inline void wait_barrier(u64& barrier, u32 parity) {
  while (emulated::Barrier{atomic_load<Order::acquire, Scope::block>(&barrier)}.phase() == static_cast<i64>(parity)) {
  }
}

/// Goes on by one with each thread that reads it.
inline u64 nanoseconds() {
  static u64 clock = 0;
  return ++clock;
}

inline void fence_global_for_copies() {}
inline void fence_shared_for_copies() {}
inline void copy_box(void* to, const TensorMap* words, i32 column, i32 row, u64& barrier) {
  EmulatedMap map;
  __builtin_memcpy(&map, words->words, sizeof(map));
  emulated::stream().read(map.rows);
  constexpr u64 row_of_box = 128;
  const u64 begin = static_cast<u64>(column) * map.element_bytes;
  for (u64 i = 0; i < map.box_rows; ++i) {
    for (u64 byte = 0; byte < row_of_box; ++byte) {
      const bool is_there = static_cast<u64>(row) + i < map.rows && begin + byte < map.row_bytes;
      char* const place = reinterpret_cast<char*>(
          emulated::swizzled(reinterpret_cast<u64>(static_cast<char*>(to) + i * row_of_box + byte)));
      *place = is_there ? map.data[(static_cast<u64>(row) + i) * map.row_bytes + begin + byte] : 0;
    }
    for (u64 byte = 0; byte < row_of_box && map.element_bytes == sizeof(tf32); byte += sizeof(tf32)) {
      u32& bits = *reinterpret_cast<u32*>(
          emulated::swizzled(reinterpret_cast<u64>(static_cast<char*>(to) + i * row_of_box + byte)));
      bits = rounded_to_tf32(bits);
    }
  }
  emulated::change(barrier, 0, -static_cast<i64>(map.box_rows * row_of_box));
}
inline void copy_in(void* to, const void* from, u32 bytes, u64& barrier) {
  __builtin_memcpy(to, from, bytes);
  emulated::change(barrier, 0, -static_cast<i64>(bytes));
}
inline void copy_out(void* to, const void* from, u32 bytes) {
  // Others go on meanwhile, so that what is sent comes later than it could be read.
  for (int i = 0; i < 50; ++i) fetch_add<Order::relaxed, Scope::block>(&emulated::block().pauses, 1U);
  emulated::copies_out().add(to, from, bytes);
}
inline void commit_copies_out() {
  emulated::copies_out().commit();
}
template <int pending = 0>
void wait_copies_out_read() {
  emulated::copies_out().read(pending);
}
template <int pending = 0>
void wait_copies_out() {
  emulated::copies_out().write(pending);
}

inline int opaque(int value) {
  return value;
}
inline int uniform(int value) {
  return value;
}
inline bool elect() {
  return thread_index() % 32 == 0;
}
inline void sync_warp() {
  emulated::meet_warp(true);
}
inline bool sync_warp_and(bool mine) {
  return emulated::meet_warp(mine);
}
inline bool sync_group_and(bool mine, u32 group, u32 threads) {
  return emulated::block().groups[group].meet(mine, threads);
}

/// Four 8×8 matrices of 16-bit elements: thread 8·i + j names row j of matrix i, and each thread has two neighbours of
/// row number thread / 4 of every matrix.
template <bool transposed>
void store_four_matrices(void* row, const u32 (&pairs)[4]) {
  auto& rows = emulated::block().rows[thread_index() / 32];
  const int lane = thread_index() % 32;
  rows[lane] = row;
  sync_warp();
  for (int matrix = 0; matrix < 4; ++matrix) {
    for (int i = 0; i < 2; ++i) {
      const int of_row = lane / 4;
      const int of_column = lane % 4 * 2 + i;
      const int named = 8 * matrix + (transposed ? of_column : of_row);
      const auto element = static_cast<unsigned short>(pairs[matrix] >> 16 * i);
      static_cast<unsigned short*>(rows[named])[transposed ? of_row : of_column] = element;
    }
  }
  sync_warp();
}
inline void store_matrices(void* row, u32 a, u32 b, u32 c, u32 d) {
  store_four_matrices<false>(row, {a, b, c, d});
}
inline void store_transposed_matrices(void* row, u32 a, u32 b, u32 c, u32 d) {
  store_four_matrices<true>(row, {a, b, c, d});
}

/// Products are a warpgroup's: they begin when all of its warps have come, and end for all of them.
inline void begin_products() {
  emulated::meet_warpgroup();
}
inline void commit_products() {}
template <int pending = 0>
void wait_products() {
  emulated::meet_warpgroup();
}
template <int count>
void fence_sums(f32 (&)[count]) {}

/// Each thread makes the sums that it holds.
template <typename T, bool transposed, int columns>
void multiply_32_bytes(f32 (&sums)[columns / 2], u32 a, u32 b, u32 add) {
  constexpr u64 depth = 32 / sizeof(T);
  const emulated::Descriptor of_a = {whole_descriptor(a)};
  const emulated::Descriptor of_b = {whole_descriptor(b)};
  if (!of_a.is_swizzled_by_128() || !of_b.is_swizzled_by_128()) __builtin_trap();
  const char* const window = emulated::block().window;
  const int lane = thread_index() % 32;
  const int first_row = thread_index() % 128 / 32 * 16 + lane / 4;
  f32 of_rows[2][depth];
  for (u64 row = 0; row < 2; ++row) {
    for (u64 k = 0; k < depth; ++k) {
      const u64 address = of_a.along_k(static_cast<u64>(first_row) + row * 8, k * sizeof(T));
      of_rows[row][k] = emulated::load_operand<T>(window, address);
    }
  }
  for (int i = 0; i < columns / 2; ++i) {
    const u64 column = static_cast<u64>(i / 4 * 8 + lane % 4 * 2 + i % 2);
    f32 sum = add != 0 ? sums[i] : 0;
    for (u64 k = 0; k < depth; ++k) {
      const u64 of_column = transposed ? of_b.along_n(k, column) : of_b.along_k(column, k * sizeof(T));
      sum += of_rows[i / 2 % 2][k] * emulated::load_operand<T>(window, of_column);
    }
    sums[i] = sum;
  }
}

template <int count>
void take_registers() {}
template <int count>
void leave_registers() {}

}  // namespace iris::device::platform

namespace iris::device {

inline void wait_for_stream() {
  platform::emulated::Stream& stream = platform::emulated::stream();
  stream.waited.insert(stream.reader());
}

}  // namespace iris::device
