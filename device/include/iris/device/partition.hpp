#pragma once

#include <iris/device/platform.hpp>

/// Who works on what: ranges of elements, teams of threads, and the loop that deals packs of a range to a team.
namespace iris::device {

/// Elements [begin, end).
struct Range {
  i64 begin;
  i64 end;
};

__device__ constexpr i64 divide_up(i64 value, i64 by) {
  return (value + by - 1) / by;
}
__device__ constexpr i64 round_up(i64 value, i64 to) {
  return divide_up(value, to) * to;
}

/// Part `part` of `count` elements cut into `parts` nearly equal ranges, whose inner boundaries are multiples of
/// `multiple`. A part may be empty.
__device__ constexpr Range split(i64 count, i32 parts, i32 part, i64 multiple) {
  const i64 units = divide_up(count, multiple);
  const i64 quotient = units / parts;
  const i64 remainder = units % parts;
  const i64 begin = part * quotient + (part < remainder ? part : remainder);
  const i64 end = begin + quotient + (part < remainder ? 1 : 0);
  return {begin * multiple < count ? begin * multiple : count, end * multiple < count ? end * multiple : count};
}

/// Piece number `index` of a range cut into pieces of `size` elements; the last one may be shorter, and those after it
/// are empty.
__device__ constexpr Range piece(const Range& range, i64 index, i64 size) {
  const i64 begin = range.begin + index * size;
  return {begin < range.end ? begin : range.end, begin + size < range.end ? begin + size : range.end};
}

/// Threads that share a loop: this one is number `member` of `size`.
struct Team {
  i64 member;
  i64 size;
};

/// All threads of all blocks of this rank.
template <typename Config>
__device__ __forceinline__ Team grid_team() {
  return {i64{block_index()} * Config::threads + thread_index(), i64{Config::blocks} * Config::threads};
}

/// The threads of this block.
template <typename Config>
__device__ __forceinline__ Team block_team() {
  return {thread_index(), Config::threads};
}

/// Where `count` packs of `width` elements begin, `stride` elements apart: what one thread takes in one turn of a loop.
template <int width_, int count_>
struct Turn {
  static constexpr int width = width_;
  static constexpr int count = count_;

  i64 first;
  i64 stride;

  __device__ __forceinline__ i64 operator[](int pack) const { return first + pack * stride; }
};

/// Calls body(Turn<…>) until every element of `range` has been dealt to one thread of the team: in turns of `unroll`
/// packs of `vector` elements, then single packs, then the last elements (fewer than `vector`) one by one.
/// range.begin is a multiple of `vector`. Which thread gets an element depends on nothing but the arguments.
template <int vector, int unroll, typename Body>
__device__ __forceinline__ void for_each_pack(Team team, Range range, const Body& body) {
  const i64 stride = team.size * vector;
  const i64 tail = range.end - (range.end - range.begin) % vector;
  i64 first = range.begin + team.member * vector;
  for (; first + (unroll - 1) * stride < tail; first += unroll * stride) body(Turn<vector, unroll>{first, stride});
  if constexpr (unroll > 1) {
    for (; first < tail; first += stride) body(Turn<vector, 1>{first, stride});
  }
  if constexpr (vector > 1) {
    for (i64 last = tail + team.member; last < range.end; last += team.size) body(Turn<1, 1>{last, 1});
  }
}

}  // namespace iris::device
