// Atomics on other ranks' memory that only this GPU, or this block, takes part in.
#include <iris/device/atomics.hpp>
#include <iris/device/barrier.hpp>
#include <iris/device/partition.hpp>

using namespace iris::device;

template <typename Config>
__device__ void adds_in_the_gpu(const Context& context, u32* counts, i64 m, i64 n) {
  atomic_add<Order::relaxed, Scope::gpu>(on_rank(context, counts, 1), 1u);  // expect: iris-remote-scope
}

template <typename Config>
__device__ void adds_in_the_block(const Context& context, u32* counts, i64 m, i64 n) {
  u32* const theirs = on_rank(context, counts, 1);
  atomic_add<Order::relaxed, Scope::block>(theirs + thread_index(), 1u);  // expect: iris-remote-scope
}

template <typename Config>
__device__ void loads_in_the_gpu(const Context& context, const u64* counts, u64* out, i64 m, i64 n) {
  out[0] = atomic_load<Order::acquire, Scope::gpu>(on_rank(context, counts, 1));  // expect: iris-remote-scope
}

template <typename Config>
__device__ void stores_in_the_gpu(const Context& context, u64* counts, i64 m, i64 n) {
  u64* const theirs = on_rank(context, counts, Config::root);
  atomic_store<Order::release, Scope::gpu>(theirs, u64{1});  // expect: iris-remote-scope
}

template <typename Config>
__device__ void exchanges_in_the_gpu(const Context& context, u32* lock, u32* out, i64 m, i64 n) {
  u32* theirs = on_rank(context, lock, peer_at<Config::world>(context, 1));
  out[0] = atomic_xchg<Order::acquire, Scope::gpu>(theirs, 1u);  // expect: iris-remote-scope
}

template <typename Config>
__device__ void compares_in_the_block(const Context& context, u32* lock, u32* out, i64 m, i64 n) {
  u32* theirs = on_rank(context, lock, peer_at<Config::world>(context, 1));
  out[0] = atomic_cas<Order::acq_rel, Scope::block>(theirs, 0u, 1u);  // expect: iris-remote-scope
}

template <typename Config>
__device__ void takes_the_largest_in_the_gpu(const Context& context, i32* largest, i64 m, i64 n) {
  for (i32 offset = 1; offset < Config::world; ++offset) {
    i32* const theirs = on_rank(context, largest, peer_at<Config::world>(context, offset));
    atomic_max<Order::relaxed, Scope::gpu>(theirs, static_cast<i32>(n));  // expect: iris-remote-scope
  }
}

template <typename Config>
__device__ void names_the_scope_elsewhere(const Context& context, i32* counts, i64 m, i64 n) {
  constexpr Scope scope = Scope::gpu;
  i32* const theirs = on_rank(context, counts, 1);
  atomic_sub<Order::relaxed, scope>(theirs, 1);  // expect: iris-remote-scope
}

template <Scope scope>
__device__ void count_up(u32* counter) {
  atomic_or<Order::relaxed, scope>(counter, 4u);  // expect: iris-remote-scope
}

template <typename Config>
__device__ void hands_the_scope_to_a_function(const Context& context, u32* counts, i64 m, i64 n) {
  count_up<Scope::gpu>(on_rank(context, counts, 1));
}

template <typename Config>
__device__ void adds_in_a_loop_over_packs(const Context& context, f32* sums, i64 m, i64 n) {
  f32* const theirs = on_rank(context, sums, 1);
  for_each_pack<1, 1>(grid_threads<Config>(), Range{0, m * n}, [&](const auto& index) {
    atomic_add<Order::relaxed, Scope::gpu>(theirs + index[0], 1.0f);  // expect: iris-remote-scope
  });
}
