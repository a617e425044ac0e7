// What other ranks send is read before anybody can know that it has come.
#include <iris/device/barrier.hpp>
#include <iris/device/reduce.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void reads_at_once(const Context& context, const typename Config::Element* in, typename Config::Element* out,
                              i64 m, i64 n) {
  Launch<Config> launch(context);
  const auto* slots = launch.template workspace<typename Config::Element>();
  out[thread_index()] = slots[thread_index()];  // expect: iris-early-workspace-read
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_before_the_barrier(const Context& context, const typename Config::Element* in,
                                         typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  store(context, slots + thread_index(), in[thread_index()], 1);
  out[thread_index()] = load_pack<1>(slots + thread_index())[0];  // expect: iris-early-workspace-read
  if (!same_block_barrier(launch, Wait::arrival)) return;
}

template <typename Config>
__device__ void meets_in_the_block_only(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  store(context, slots + thread_index(), in[thread_index()], 1);
  sync_block_after_stores();
  for_each_pack<Config::vector, 1>(block_threads<Config>(), Range{0, n}, [&](const auto& index) {
    store(out, index, load(slots, index));  // expect: iris-early-workspace-read
  });
}

template <typename Config>
__device__ void signals_and_does_not_wait(const Context& context, const typename Config::Element* in,
                                          typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  store(context, slots + thread_index(), in[thread_index()], 1);
  block_signal_release_all(launch, own_flag<Config>(context.rank), 0);
  out[thread_index()] = *slots;  // expect: iris-early-workspace-read
}

template <typename Config>
__device__ void reduces_what_may_come(const Context& context, const typename Config::Element* in,
                                      typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  const typename Config::Element* arrived[Config::world];
  for (i32 rank = 0; rank < Config::world; ++rank) arrived[rank] = slots + rank * n;
  for_each_pack<Config::vector, 1>(grid_threads<Config>(), Range{0, n}, [&](const auto& index) {
    store(out, index, load_and_reduce<Config, Sum>(arrived, index));  // expect: iris-early-workspace-read
  });
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void waits_behind_the_read_in_a_loop(const Context& context, const typename Config::Element* in,
                                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const auto* slots = launch.template workspace<typename Config::Element>();
  for (u32 step = 0; step < 4; ++step) {
    out[step] = slots[step];  // expect: iris-early-workspace-read
    if (!block_wait_acquire(launch, own_flag<Config>(0), step, Config::root, Wait::step)) return;
  }
}

template <typename Element>
__device__ Element sum_of(const Element* values, i64 count) {
  Element sum = 0;
  for (i64 i = 0; i < count; ++i) sum += values[i];  // expect: iris-early-workspace-read
  return sum;
}

template <typename Config>
__device__ void reads_in_a_function(const Context& context, const typename Config::Element* in,
                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  out[0] = sum_of(launch.template workspace<typename Config::Element>(), n);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_the_raw_workspace(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const auto* slots = reinterpret_cast<const f32*>(context.workspace);
  if (thread_index() == 0) out[0] = slots[n];  // expect: iris-early-workspace-read
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void counts_up_what_lies_there(const Context& context, u32* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  u32* const counts = launch.template workspace<u32>() + 16;
  counts[thread_index()] += 1;  // expect: iris-early-workspace-read
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void polls_by_hand(const Context& context, u32* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const u32* const arrived = launch.template workspace<u32>();
  out[0] = atomic_load(arrived);  // expect: iris-early-workspace-read
}

template <typename Config>
__device__ void copies_it_out(const Context& context, const typename Config::Element* in, typename Config::Element* out,
                              i64 m, i64 n) {
  Launch<Config> launch(context);
  if (thread_index() == 0) {
    const auto* slots = launch.template workspace<typename Config::Element>();
    copy_elements<1>(slots, out, n);  // expect: iris-early-workspace-read
  }
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void loads_from_a_peer_at_once(const Context& context, const typename Config::Element* in,
                                          typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  out[thread_index()] = load(context, slots + thread_index(), 1);  // expect: iris-early-workspace-read
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void gets_what_a_peer_may_not_have_written(const Context& context, const typename Config::Element* in,
                                                      typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  get(context, slots, out, n, 1);  // expect: iris-early-workspace-read
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void puts_what_may_not_have_come(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  put(context, slots, out, n, 1);  // expect: iris-early-workspace-read
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_a_peer_s_by_its_address(const Context& context, const typename Config::Element* in,
                                              typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  const auto* theirs = on_rank(context, slots, 1);
  out[0] = load_pack<1>(theirs + 4)[0];  // expect: iris-early-workspace-read
  same_block_barrier(launch, Wait::exit);
}
