#pragma once

#include <iris/device/platform.hpp>

/// Who works on what: ranges of elements, groups of threads, and the loop that distributes packs of a range to a group.
namespace iris::device {

/// Elements [begin, end).
struct Range {
  i64 begin;
  i64 end;
};

/// How many there are, up to `most`.
__device__ constexpr int up_to(i64 count, int most) {
  return count < most ? static_cast<int>(count) : most;
}

__device__ constexpr i64 divide_up(i64 value, i64 by) {
  return (value + by - 1) / by;
}
__device__ constexpr i64 round_up(i64 value, i64 to) {
  return divide_up(value, to) * to;
}

/// Shard `index` of `count` elements cut into `shards` nearly equal ranges, whose inner boundaries are multiples of
/// `alignment`. A shard may be empty; none is longer than the first. Where `count` is a constant and all are equally
/// long, their length is one, too.
__device__ constexpr Range shard_of(i64 count, i32 shards, i32 index, i64 alignment) {
  const i64 units = divide_up(count, alignment);
  const i64 quotient = units / shards;
  const i64 remainder = units % shards;
  const bool longer = static_cast<u32>(index) < static_cast<u64>(remainder);  // never if that is the constant 0
  const i64 first = index * quotient + (longer ? index : remainder);
  const i64 begin = first * alignment;
  const i64 end = begin + (quotient + (longer ? 1 : 0)) * alignment;
  if (units * alignment == count) return {begin, end};
  return {begin < count ? begin : count, end < count ? end : count};
}

/// Chunk number `index` of a range cut into chunks of `size` elements; the last one may be shorter, and those after it
/// are empty.
__device__ constexpr Range chunk_of(const Range& range, i64 index, i64 size) {
  const i64 begin = range.begin + index * size;
  return {begin < range.end ? begin : range.end, begin + size < range.end ? begin + size : range.end};
}

/// The same for a caller that asks for the first `chunks` only, which leave nothing of the range. Where its length and
/// their number are constants and all are whole, their length is one, too.
__device__ constexpr Range chunk_of(const Range& range, i64 index, i64 size, i64 chunks) {
  if (chunks == 1) return range;
  const i64 begin = range.begin + index * size;
  if (range.end - range.begin == chunks * size) return {begin, begin + size};
  return chunk_of(range, index, size);
}

/// Threads that share a loop: this one is number `index` of `size`.
struct ThreadGroup {
  i64 index;
  i64 size;
};

/// All threads of all blocks of this rank.
template <typename Config>
__device__ __forceinline__ ThreadGroup grid_threads() {
  return {i64{block_index()} * Config::threads + thread_index(), i64{Config::blocks} * Config::threads};
}

/// The threads of this block.
template <typename Config>
__device__ __forceinline__ ThreadGroup block_threads() {
  return {thread_index(), Config::threads};
}

/// Where `count` packs of `width` elements begin, `stride` elements apart: what one thread takes in one iteration of a
/// loop.
template <int width_, int count_>
struct PackIndex {
  static constexpr int width = width_;
  static constexpr int count = count_;

  i64 first;
  i64 stride;

  __device__ __forceinline__ i64 operator[](int pack) const { return first + pack * stride; }
  /// The same, so many elements further on.
  __device__ __forceinline__ PackIndex behind(i64 elements) const { return {first + elements, stride}; }
};

/// Calls body(PackIndex<…>) until every element of `range` has been given to one thread of the group: in iterations of
/// `unroll` packs of `vector` elements, then single packs, then the last elements (fewer than `vector`) one by one.
/// range.begin is a multiple of `vector`. Which thread gets an element depends on nothing but the arguments.
///
/// Compilers take longest over copies of `body`: where the range's length is a constant, the conditions before the
/// loops leave none that does not run, and no loop is unrolled further.
template <int vector, int unroll, typename Body>
__device__ __forceinline__ void for_each_pack(ThreadGroup group, Range range, const Body& body) {
  const i64 stride = group.size * vector;
  const i64 length = range.end - range.begin;
  const i64 tail = range.end - length % vector;
  i64 first = range.begin + group.index * vector;
  if (unroll == 1 || (unroll - 1) * stride < length) {
#pragma unroll 1
    for (; first + (unroll - 1) * stride < tail; first += unroll * stride) {
      body(PackIndex<vector, unroll>{first, stride});
    }
  }
  if (unroll > 1 && length / vector % (unroll * group.size) != 0) {
#pragma unroll 1
    for (; first < tail; first += stride) body(PackIndex<vector, 1>{first, stride});
  }
  if (length % vector != 0) {
#pragma unroll 1
    for (i64 last = tail + group.index; last < range.end; last += group.size) body(PackIndex<1, 1>{last, 1});
  }
}

/// Where `count` packs of `width` elements begin, anywhere.
template <int width_, int count_>
struct PackPlaces {
  static constexpr int width = width_;
  static constexpr int count = count_;

  i64 begin[count];

  __device__ __forceinline__ i64 operator[](int pack) const { return begin[pack]; }
};

/// Packs of matrices of equally many rows and columns: which row each is in, and the column where it begins.
template <int width, int count>
struct RowPacks {
  i64 row[count];
  i64 column[count];

  /// In a matrix whose rows are `stride` elements apart.
  __device__ __forceinline__ PackPlaces<width, count> in(i64 stride) const {
    PackPlaces<width, count> places;
#pragma unroll
    for (int pack = 0; pack < count; ++pack) places.begin[pack] = row[pack] * stride + column[pack];
    return places;
  }
  /// The same, so many rows further down and so many columns further to the right.
  __device__ __forceinline__ RowPacks moved(i64 rows, i64 columns) const {
    RowPacks to;
#pragma unroll
    for (int pack = 0; pack < count; ++pack) {
      to.row[pack] = row[pack] + rows;
      to.column[pack] = column[pack] + columns;
    }
    return to;
  }
};

/// Calls body(RowPacks<…>) until every element of rows × columns, a multiple of `vector`, has been given to one thread
/// of the group: `unroll` packs in an iteration, then single ones. A thread divides once, then it counts.
template <int vector, int unroll, typename Body>
__device__ __forceinline__ void for_each_pack_of_rows(ThreadGroup group, i64 rows, i64 columns, const Body& body) {
  const i64 across = columns / vector;
  const i64 packs = rows * across;
  if (group.index >= packs) return;
  // Division of 64 bits is a long piece of code. A group has fewer threads than that, and what is larger divides none.
  const u32 divisor = static_cast<u32>(across <= group.size ? across : group.size + 1);
  i64 row = static_cast<u32>(group.index) / divisor;
  i64 column = group.index - row * across;
  const i64 rows_on = static_cast<u32>(group.size) / divisor;
  const i64 columns_on = group.size - rows_on * across;
  const auto take = [&]<int count>(RowPacks<vector, count>& taken) {
#pragma unroll
    for (int pack = 0; pack < count; ++pack) {
      taken.row[pack] = row;
      taken.column[pack] = column * vector;
      row += rows_on;
      column += columns_on;
      if (column >= across) {
        column -= across;
        ++row;
      }
    }
    body(taken);
  };
  i64 first = group.index;
#pragma unroll 1
  for (; first + (unroll - 1) * group.size < packs; first += unroll * group.size) {
    RowPacks<vector, unroll> taken;
    take(taken);
  }
  if (unroll > 1 && packs % (unroll * group.size) != 0) {
#pragma unroll 1
    for (; first < packs; first += group.size) {
      RowPacks<vector, 1> taken;
      take(taken);
    }
  }
}

}  // namespace iris::device
