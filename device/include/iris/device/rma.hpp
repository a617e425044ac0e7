#pragma once

#include <iris/device/context.hpp>
#include <iris/device/pack.hpp>
#include <iris/device/partition.hpp>

/// Reading and writing the memory of any rank. All accesses are plain: another rank sees a store, and a load sees
/// another rank's store, only when ordered by a signal (signal.hpp, barrier.hpp) or an atomic (atomics.hpp).
namespace iris::device {

/// The element at `mine`, as it is on rank `from`. `mine` is symmetric: on the heap, or in adopted memory.
template <typename T>
__device__ __forceinline__ T load(const Context& context, const T* mine, i32 from) {
  return load_pack<1>(on_rank(context, mine, from))[0];
}

/// Writes the element at `mine` of rank `to`. `mine` is symmetric.
template <typename T>
__device__ __forceinline__ void store(const Context& context, T* mine, T value, i32 to) {
  store_pack(on_rank(context, mine, to), Pack<T, 1>{{value}});
}

/// Copies `count` elements by this thread alone; `width` elements in one access, which both pointers are aligned to
/// and `count` is a multiple of.
template <int width, typename T>
__device__ __forceinline__ void copy_elements(const T* source, T* destination, i64 count) {
  for (i64 i = 0; i < count; i += width) store_pack(destination + i, load_pack<width>(source + i));
}

/// Copies from `source` on rank `from` to `destination` on this rank. `source` is this rank's address of the symmetric
/// object; `destination` is any device memory.
template <int width = 1, typename T>
__device__ __forceinline__ void get(const Context& context, const T* source, T* destination, i64 count, i32 from) {
  copy_elements<width>(on_rank(context, source, from), destination, count);
}

/// Copies from `source` on this rank to `destination` on rank `to`. `destination` is this rank's address of the
/// symmetric object; `source` is any device memory.
template <int width = 1, typename T>
__device__ __forceinline__ void put(const Context& context, const T* source, T* destination, i64 count, i32 to) {
  copy_elements<width>(source, on_rank(context, destination, to), count);
}

/// Copies from `source` on rank `from` to `destination` on rank `to`, both given as this rank's addresses of symmetric
/// objects.
template <int width = 1, typename T>
__device__ __forceinline__ void copy(const Context& context, const T* source, T* destination, i64 count, i32 from,
                                     i32 to) {
  copy_elements<width>(on_rank(context, source, from), on_rank(context, destination, to), count);
}

/// What one thread holds of the packs that a PackIndex, or PackPlaces, names: index.count of them.
template <typename T, int width, int count>
struct Packs {
  Pack<T, width> packs[count];
};

/// The packs at `index` of the array at `base` (of any rank), all loads in flight together.
template <typename T, typename Index>
__device__ __forceinline__ Packs<T, Index::width, Index::count> load(const T* base, const Index& index) {
  Packs<T, Index::width, Index::count> values;
#pragma unroll
  for (int i = 0; i < Index::count; ++i) values.packs[i] = load_pack<Index::width>(base + index[i]);
  return values;
}

/// Writes the packs at `index` of the array at `base` (of any rank).
template <typename T, typename Index>
__device__ __forceinline__ void store(T* base, const Index& index, const Packs<T, Index::width, Index::count>& values) {
#pragma unroll
  for (int i = 0; i < Index::count; ++i) store_pack(base + index[i], values.packs[i]);
}

/// Each element converted, rounded once.
template <typename To, typename From, int width, int count>
__device__ __forceinline__ Packs<To, width, count> convert_packs(const Packs<From, width, count>& from) {
  Packs<To, width, count> to;
#pragma unroll
  for (int i = 0; i < count; ++i) to.packs[i] = convert_pack<To>(from.packs[i]);
  return to;
}

}  // namespace iris::device
