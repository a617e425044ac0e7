#pragma once

#include <iris/device/pack.hpp>
#include <iris/device/partition.hpp>
#include <iris/device/signal.hpp>

/// Data that carries its own flags, for short messages. A line is 8 bytes of elements in two words of 64 bits, whose
/// upper halves are the mark of the launch that sent them. A word is written and read as a whole, so whoever sees its
/// mark has its data: one way over the links, without a fence, a signal or a barrier, for twice the bytes. As NCCL's
/// protocol LL does.
namespace iris::device {

/// Elements in a line.
template <typename T>
inline constexpr i32 line_elements = 8 / sizeof(T);

/// What a line holds.
template <typename T>
using LinePack = Pack<T, line_elements<T>>;

/// Lines of a message of `count` elements: at least one, so that an empty one arrives, too.
template <typename T>
__device__ constexpr i64 lines_of(i64 count) {
  return count == 0 ? 1 : divide_up(count, line_elements<T>);
}

/// The elements of a message, in memory: rows of so many columns, which begin `stride` elements apart.
struct Rows {
  i64 rows;
  i64 columns;
  i64 stride;

  __device__ constexpr i64 count() const { return rows * columns; }
  __device__ constexpr i64 place(i64 element) const {
    return columns == stride || rows == 1 ? element : element / columns * stride + element % columns;
  }
};

/// The elements of line number `line` of a message that lies at `base`, zero beyond its end. `vector` elements are
/// loaded in one access; where there are several rows, these begin on its boundaries.
template <int vector, typename T>
__device__ __forceinline__ LinePack<T> load_line(const T* base, const Rows& message, i64 line) {
  static_assert(line_elements<T> % vector == 0, "a line holds whole accesses: 8 bytes of elements");
  LinePack<T> values = {};
#pragma unroll
  for (i32 lane = 0; lane < line_elements<T>; lane += vector) {
    const i64 element = line * line_elements<T> + lane;
    if (element + vector <= message.count()) {
      const Pack<T, vector> pack = load_pack<vector>(base + message.place(element));
#pragma unroll
      for (i32 i = 0; i < vector; ++i) values[lane + i] = pack[i];
    } else {
#pragma unroll
      for (i32 i = 0; i < vector - 1; ++i) {
        if (element + i < message.count()) values[lane + i] = load_pack<1>(base + message.place(element + i))[0];
      }
    }
  }
  return values;
}

/// Writes what of a line lies within the message.
template <int vector, typename T, int width>
__device__ __forceinline__ void store_line(T* base, const Rows& message, i64 line, const Pack<T, width>& values) {
  static_assert(width % vector == 0, "a line holds whole accesses: 8 bytes of elements");
#pragma unroll
  for (i32 lane = 0; lane < width; lane += vector) {
    const i64 element = line * width + lane;
    if (element + vector <= message.count()) {
      Pack<T, vector> pack;
#pragma unroll
      for (i32 i = 0; i < vector; ++i) pack[i] = values[lane + i];
      store_pack(base + message.place(element), pack);
    } else {
#pragma unroll
      for (i32 i = 0; i < vector - 1; ++i) {
        if (element + i < message.count()) {
          store_pack(base + message.place(element + i), Pack<T, 1>{{values[lane + i]}});
        }
      }
    }
  }
}

/// Where messages of at most `count` elements arrive in this launch, one from each rank: its ping-pong buffer of a
/// workspace that was zero before the first launch and has held nothing but words since, of whatever launches.
template <typename Config>
class Mailbox {
 public:
  using Element = typename Config::Element;

  __device__ __forceinline__ Mailbox(const Launch<Config>& launch, i64 count)
      : launch_(launch), lines_(lines_of<Element>(count)) {}

  __device__ __forceinline__ i64 lines() const { return lines_; }

  /// Sends a line of this rank's message to rank `peer`, which may be this one.
  __device__ __forceinline__ void send(i64 line, const LinePack<Element>& values, i32 peer) const {
    const auto halves = __builtin_bit_cast(Halves, values);
    const u64 mark = u64{launch_.mark()} << 32;
    platform::store_words(on_rank(launch_.context, words(line, launch_.context.rank), peer),
                          {mark | halves.values[0], mark | halves.values[1]});
  }

  /// Waits for a line of every rank's message, this rank's own among them. False, with the fault recorded, if one of
  /// them took longer than Context::timeout_ns.
  __device__ __forceinline__ bool receive(i64 line, LinePack<Element> (&from)[Config::world]) const {
    return receive_some<Config::world>(line, 0, from);
  }
  /// The same for the one from rank `source`.
  __device__ __forceinline__ bool receive_from(i64 line, i32 source, LinePack<Element>& values) const {
    LinePack<Element> from[1];
    const bool arrived = receive_some<1>(line, source, from);
    values = from[0];
    return arrived;
  }

 private:
  struct Halves {
    u32 values[2];
  };

  __device__ __forceinline__ u64* words(i64 line, i32 source) const {
    return launch_.template workspace<u64>() + 2 * (source * lines_ + line);
  }

  template <int count>
  __device__ __forceinline__ bool receive_some(i64 line, i32 first_source, LinePack<Element> (&from)[count]) const {
    const u64* places[count];
#pragma unroll
    for (i32 i = 0; i < count; ++i) places[i] = words(line, first_source + i);
    platform::Words seen[count];
    const Context& context = launch_.context;
    const i32 missing = platform::wait_words(places, launch_.mark(), first_source, context.timeout_ns, seen);
    u64 late = 0;  // of the word that lacks the mark
#pragma unroll
    for (i32 i = 0; i < count; ++i) {
      const u64 first = seen[i].values[0];
      const u64 second = seen[i].values[1];
      from[i] = __builtin_bit_cast(LinePack<Element>, Halves{{static_cast<u32>(first), static_cast<u32>(second)}});
      if (i == missing) late = first < second ? first : second;
    }
    if (missing < 0) return true;
    raise_fault(context, first_source + missing, Wait::arrival, launch_.flag_value(0), late >> 32 << flag_step_bits);
    return false;
  }

  const Launch<Config>& launch_;
  i64 lines_;
};

}  // namespace iris::device
