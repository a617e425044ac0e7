// Atomics of the system's scope on other ranks' memory, and of any scope on this rank's own.
#include <iris/device/atomics.hpp>
#include <iris/device/barrier.hpp>
#include <iris/device/partition.hpp>

using namespace iris::device;

template <typename Config>
__device__ void adds_in_the_system(const Context& context, u32* counts, i64 m, i64 n) {
  atomic_add(on_rank(context, counts, 1), 1u);
}

template <typename Config>
__device__ void says_so(const Context& context, u32* counts, i64 m, i64 n) {
  atomic_add<Order::acq_rel, Scope::sys>(on_rank(context, counts, 1), 1u);
}

template <typename Config>
__device__ void names_the_order_only(const Context& context, const u64* counts, u64* out, i64 m, i64 n) {
  out[0] = atomic_load<Order::acquire>(on_rank(context, counts, 1));
}

template <typename Config>
__device__ void counts_its_own_in_the_gpu(const Context& context, u32* counts, i64 m, i64 n) {
  atomic_add<Order::relaxed, Scope::gpu>(counts + block_index(), 1u);
}

template <typename Config>
__device__ void counts_its_own_in_the_block(const Context& context, u32* counts, i64 m, i64 n) {
  atomic_add<Order::relaxed, Scope::block>(counts, 1u);
}

template <typename Config>
__device__ void draws_a_ticket_of_its_own(const Context& context, u64* tickets, u64* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() == 0) out[block_index()] = atomic_add<Order::acquire, Scope::gpu>(tickets, u64{1});
}

template <typename Config>
__device__ void reads_its_workspace(const Context& context, u32* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::arrival)) return;
  out[0] = atomic_load<Order::relaxed, Scope::gpu>(launch.template workspace<u32>());
}

template <typename Config>
__device__ void keeps_both_apart(const Context& context, u32* counts, i64 m, i64 n) {
  u32* const theirs = on_rank(context, counts, 1);
  atomic_add<Order::relaxed, Scope::gpu>(counts, 1u);
  atomic_add<Order::relaxed, Scope::sys>(theirs, 1u);
}

template <Scope scope>
__device__ void count_up(u32* counter) {
  atomic_add<Order::relaxed, scope>(counter, 4u);
}

template <typename Config>
__device__ void hands_the_right_scope_to_a_function(const Context& context, u32* counts, i64 m, i64 n) {
  count_up<Scope::sys>(on_rank(context, counts, 1));
}

template <typename Config>
__device__ void uses_the_wider_scope_at_home(const Context& context, f32* sums, i64 m, i64 n) {
  for_each_pack<1, 1>(grid_threads<Config>(), Range{0, m * n},
                      [&](const auto& index) { atomic_add<Order::relaxed, Scope::sys>(sums + index[0], 1.0f); });
}
