#pragma once

#include <iris/device/pack.hpp>
#include <iris/device/partition.hpp>
#include <iris/device/signal.hpp>

/// Data that carries its own flags, for short messages. A line is 16 bytes, elements and the mark of the launch that
/// sent them. What is written and read as a whole has a mark, so whoever sees that has the data: one way over the
/// links, without a fence, a signal or a barrier, for a third more bytes or for twice as many. As NCCL's protocols LL
/// and LL128 do.
namespace iris::device {

/// Elements in a line that every platform has: 8 bytes of them.
template <typename T>
inline constexpr i32 line_elements = 8 / sizeof(T);

/// What a line holds: 8 bytes of elements, or 12.
template <typename T, i32 elements = line_elements<T>>
using LinePack = Pack<T, elements>;

/// How a line's elements lie in two words of 64 bits: 12 bytes before one mark, for platforms that write both words as
/// a whole; or 8 bytes, half of them in each word before a mark of its own.
template <typename Values>
struct LineWords {
  static_assert(sizeof(Values) == 8 || sizeof(Values) == 12, "a line holds 8 or 12 bytes of elements");
  static constexpr int marks = sizeof(Values) == 8 ? 2 : 1;
  struct Parts {
    u32 values[sizeof(Values) / sizeof(u32)];
  };

  __device__ __forceinline__ static platform::Words of(const Values& values, u32 mark) {
    const auto parts = __builtin_bit_cast(Parts, values);
    const u64 high = u64{mark} << 32;
    if constexpr (marks == 2)
      return {{high | parts.values[0], high | parts.values[1]}};
    else
      return {{u64{parts.values[1]} << 32 | parts.values[0], high | parts.values[2]}};
  }
  __device__ __forceinline__ static Values values_of(const platform::Words& words) {
    const u64 first = words.values[0];
    const auto last = static_cast<u32>(words.values[1]);
    if constexpr (marks == 2)
      return __builtin_bit_cast(Values, Parts{{static_cast<u32>(first), last}});
    else
      return __builtin_bit_cast(Values, Parts{{static_cast<u32>(first), static_cast<u32>(first >> 32), last}});
  }
  /// Of a line that has come in part, the mark that lacks.
  __device__ __forceinline__ static u64 late_mark(const platform::Words& words) {
    const u64 first = words.values[0];
    const u64 last = words.values[1];
    return (marks == 2 && first < last ? first : last) >> 32;
  }
};

/// Lines of a message of `count` elements: at least one, so that an empty one arrives, too.
template <typename T, i32 elements = line_elements<T>>
__device__ constexpr i64 lines_of(i64 count) {
  return count == 0 ? 1 : divide_up(count, elements);
}

/// The elements of a message, in memory: rows of so many columns, which begin `stride` elements apart.
struct Rows {
  i64 rows;
  i64 columns;
  i64 stride;

  __device__ constexpr i64 count() const { return rows * columns; }
  /// Whether no row ends before the next one begins.
  __device__ constexpr bool are_contiguous() const { return rows == 1 || columns == stride; }
};

/// Line number `line`, one of a message's, to be loaded from and stored to all buffers that hold messages of these
/// rows: `vector` elements in one access, if they are `aligned` so, each row on a boundary; else one by one. What
/// lies where is found once, since dividing takes long.
template <typename T, int vector, i32 elements = line_elements<T>>
class MessageLine {
 public:
  static_assert(elements % vector == 0, "a line holds whole accesses");

  __device__ __forceinline__ MessageLine(const Rows& message, i64 line, bool aligned)
      : held_(held_of(message.count(), line)), aligned_(aligned) {
    const i64 element = line * elements;
    const i64 row = message.are_contiguous() || held_ == 0 ? 0 : element / message.columns;
    i64 column = element - row * message.columns;
    i64 row_begins = row * message.stride;
#pragma unroll
    for (i32 lane = 0; lane < elements; ++lane) {
      places_[lane] = row_begins + column;
      ++column;
      if (!message.are_contiguous() && column == message.columns) {
        column = 0;
        row_begins += message.stride;
      }
    }
  }

  /// Its elements in the message at `base`, zero beyond the end.
  __device__ __forceinline__ LinePack<T, elements> load(const T* base) const {
    LinePack<T, elements> values = {};
    if (is_whole()) {
#pragma unroll
      for (i32 lane = 0; lane < elements; lane += vector) {
        const Pack<T, vector> pack = load_pack<vector>(base + places_[lane]);
#pragma unroll
        for (i32 i = 0; i < vector; ++i) values[lane + i] = pack[i];
      }
    } else {
#pragma unroll
      for (i32 lane = 0; lane < elements; ++lane) {
        if (lane < held_) values[lane] = load_pack<1>(base + places_[lane])[0];
      }
    }
    return values;
  }

  /// Writes what of it lies within the message at `base`.
  template <typename Result>
  __device__ __forceinline__ void store(Result* base, const Pack<Result, elements>& values) const {
    if (is_whole()) {
#pragma unroll
      for (i32 lane = 0; lane < elements; lane += vector) {
        Pack<Result, vector> pack;
#pragma unroll
        for (i32 i = 0; i < vector; ++i) pack[i] = values[lane + i];
        store_pack(base + places_[lane], pack);
      }
    } else {
#pragma unroll
      for (i32 lane = 0; lane < elements; ++lane) {
        if (lane < held_) store_pack(base + places_[lane], Pack<Result, 1>{{values[lane]}});
      }
    }
  }

  /// Where it begins in a message without gaps, and how many elements of that it holds.
  __device__ __forceinline__ i64 first() const { return places_[0]; }
  __device__ __forceinline__ i32 held() const { return held_; }

 private:
  /// Whether it is full, of whole accesses: as all lines but a few are.
  __device__ __forceinline__ bool is_whole() const { return aligned_ && held_ == elements; }

  /// A constant, if that of the message is one and fills whole lines.
  __device__ __forceinline__ static i32 held_of(i64 count, i64 line) {
    const i64 left = count - line * elements;
    const bool is_full = (count > 0 && count % elements == 0) || left > elements;
    return is_full ? elements : static_cast<i32>(left);
  }

  i32 held_;  // elements of the message
  bool aligned_;
  i64 places_[elements];
};

/// A message without gaps, cut into `parts` of equally many lines, of which the last ones may hold nothing.
template <typename T, int vector, i32 elements, int parts>
class MessageInParts {
 public:
  using Line = MessageLine<T, vector, elements>;

  __device__ __forceinline__ explicit MessageInParts(i64 count) : count_(count) {}

  __device__ __forceinline__ i64 lines_of_part() const { return divide_up(lines_of<T, elements>(count_), parts); }

  /// Whether that line of a part is one of the message's.
  __device__ __forceinline__ bool has(i32 part, i64 line) const {
    return number(part, line) < lines_of<T, elements>(count_);
  }
  /// One that is.
  __device__ __forceinline__ Line at(i32 part, i64 line) const {
    return Line({1, count_, count_}, number(part, line), /*aligned=*/true);
  }

  /// Elements of the message at `from`, zero beyond its end.
  __device__ __forceinline__ LinePack<T, elements> load(const T* from, i32 part, i64 line) const {
    return has(part, line) ? at(part, line).load(from) : LinePack<T, elements>{};
  }
  /// Writes what of it lies within the message at `to`.
  template <typename Result>
  __device__ __forceinline__ void store(Result* to, i32 part, i64 line, const Pack<Result, elements>& values) const {
    if (has(part, line)) at(part, line).store(to, values);
  }

 private:
  __device__ __forceinline__ i64 number(i32 part, i64 line) const { return part * lines_of_part() + line; }

  i64 count_;
};

/// Where messages of at most `count` elements arrive in this launch, one from each rank: its ping-pong buffer of a
/// workspace, but for the first `reserved` bytes (a multiple of 16), that was zero before the first launch and has held
/// nothing but words since, of whatever launches.
template <typename Config, typename Values = LinePack<typename Config::Element>>
class Mailbox {
 public:
  __device__ __forceinline__ Mailbox(const Launch<Config>& launch, i64 count, i64 reserved = 0)
      : launch_(launch), lines_(lines_of<typename Values::Element, Values::width>(count)), reserved_(reserved) {}

  __device__ __forceinline__ i64 lines() const { return lines_; }

  /// Of the buffer that it fills, for another one behind it.
  __device__ __forceinline__ i64 bytes() const { return Config::world * lines_ * i64{sizeof(platform::Words)}; }
  /// Another one for as many lines, behind it.
  __device__ __forceinline__ Mailbox next() const {
    Mailbox other(*this);
    other.reserved_ += bytes();
    return other;
  }

  /// Sends a line of this rank's message to rank `peer`, which may be this one.
  __device__ __forceinline__ void send(i64 line, const Values& values, i32 peer) const {
    platform::store_words<Line::marks>(heap_on_rank(launch_.context, words(line, launch_.context.rank), peer),
                                       Line::of(values, launch_.mark()));
  }

  /// Waits for a line of every rank's message, this rank's own among them. False, with the fault recorded, if one of
  /// them took longer than Context::timeout_ns.
  __device__ __forceinline__ bool receive(i64 line, Values (&from)[Config::world]) const {
    return receive_some<1, Config::world>({line}, 0, &from);
  }
  /// The same for several lines together.
  template <int count>
  __device__ __forceinline__ bool receive(const i64 (&lines)[count], Values (&from)[count][Config::world]) const {
    return receive_some<count, Config::world>(lines, 0, from);
  }
  /// The same for a line of each of the ranks that come after rank `before`, in a circle.
  template <int sources>
  __device__ __forceinline__ bool receive_after(i32 before, i64 line, Values (&from)[sources]) const {
    return receive_some<1, sources>({line}, after(before), &from);
  }
  /// The same for the one from rank `source`.
  __device__ __forceinline__ bool receive_from(i64 line, i32 source, Values& values) const {
    Values from[1];
    const bool arrived = receive_some<1, 1>({line}, source, &from);
    values = from[0];
    return arrived;
  }

 private:
  using Line = LineWords<Values>;

  __device__ __forceinline__ u64* words(i64 line, i32 source) const {
    return launch_.template workspace<u64>() + reserved_ / i64{sizeof(u64)} + 2 * (source * lines_ + line);
  }

  __device__ __forceinline__ static constexpr i32 after(i32 rank) { return rank + 1 < Config::world ? rank + 1 : 0; }
  /// Rank number `index` of those that follow `first` in a circle.
  __device__ __forceinline__ static constexpr i32 in_circle(i32 first, i32 index) {
    return first + index < Config::world ? first + index : first + index - Config::world;
  }

  /// So many lines, each from `sources` ranks from `first_source` on, in a circle; `from` has them line by line.
  template <int count, int sources>
  __device__ __forceinline__ bool receive_some(const i64 (&lines)[count], i32 first_source,
                                               Values (*from)[sources]) const {
    const u64* places[count * sources];
#pragma unroll
    for (int i = 0; i < count * sources; ++i)
      places[i] = words(lines[i / sources], in_circle(first_source, i % sources));
    platform::Words seen[count * sources];
    const Context& context = launch_.context;
    const i32 missing = platform::wait_words<Line::marks, sources, Config::world>(places, launch_.mark(), first_source,
                                                                                  context.timeout_ns, seen);
    u64 late = 0;
#pragma unroll
    for (int i = 0; i < count * sources; ++i) {
      from[i / sources][i % sources] = Line::values_of(seen[i]);
      if (i == missing) late = Line::late_mark(seen[i]);
    }
    if (missing < 0) return true;
    const i32 source = in_circle(first_source, missing % sources);
    raise_fault(context, source, Wait::arrival, launch_.flag_value(0), late << flag_step_bits);
    return false;
  }

  const Launch<Config>& launch_;
  i64 lines_;
  i64 reserved_;
};

}  // namespace iris::device
