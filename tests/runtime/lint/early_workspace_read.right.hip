// The workspace is read once it is known who has written it.
#include <iris/device/barrier.hpp>
#include <iris/device/lines.hpp>
#include <iris/device/reduce.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void reads_behind_a_barrier(const Context& context, const typename Config::Element* in,
                                       typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  store(context, slots + thread_index(), in[thread_index()], 1);
  if (!same_block_barrier(launch, Wait::arrival)) return;
  out[thread_index()] = slots[thread_index()];
}

template <typename Config>
__device__ void reads_behind_a_wait(const Context& context, const typename Config::Element* in,
                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const auto* slots = launch.template workspace<typename Config::Element>();
  if (!block_wait_acquire(launch, own_flag<Config>(0), 0, Config::root, Wait::arrival)) return;
  out[thread_index()] = load_pack<1>(slots + thread_index())[0];
}

template <typename Config>
__device__ void waits_in_each_pass(const Context& context, const typename Config::Element* in,
                                   typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const auto* slots = launch.template workspace<typename Config::Element>();
  for (u32 step = 0; step < 4; ++step) {
    if (!block_wait_acquire(launch, own_flag<Config>(0), step, Config::root, Wait::step)) return;
    out[step] = slots[step];
  }
}

template <typename Config>
__device__ void waits_where_there_is_somebody_to_wait_for(const Context& context, const typename Config::Element* in,
                                                          typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const bool first = context.rank == 0;
  const i32 previous = peer_at<Config::world>(context, Config::world - 1);
  const auto* partials = launch.template workspace<typename Config::Element>();
  for (u32 chunk = 0; chunk < 4; ++chunk) {
    if (!first && !block_wait_acquire(launch, own_flag<Config>(0), chunk, previous, Wait::step)) return;
    for_each_pack<1, 1>(block_threads<Config>(), Range{0, n}, [&](const auto& index) {
      auto sums = load(in, index);
      if (!first) sums = combine<Sum>(load(partials, index), sums);
      store(out, index, sums);
    });
  }
}

template <typename Config>
__device__ void reads_what_the_last_pass_waited_for(const Context& context, const typename Config::Element* in,
                                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const auto* slots = launch.template workspace<typename Config::Element>();
  for (u32 step = 0; step < 4; ++step) {
    if (step > 0) out[step] = slots[step];
    if (!block_wait_acquire(launch, own_flag<Config>(0), step, Config::root, Wait::step)) return;
  }
}

template <typename Config>
__device__ void reads_what_it_has_written_itself(const Context& context, const typename Config::Element* in,
                                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const scratch = launch.template workspace<typename Config::Element>();
  scratch[thread_index()] = in[thread_index()];
  sync_block();
  out[thread_index()] = scratch[Config::threads - 1 - thread_index()];
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ bool everybody_has_come(const Launch<Config>& launch) {
  bool arrived = true;
  for (i32 source = thread_index(); source < Config::world; source += Config::threads) {
    arrived = wait_acquire(launch, own_flag<Config>(source), 0, source, Wait::arrival) && arrived;
  }
  return sync_block_and(arrived);
}

template <typename Config>
__device__ void waits_in_a_function(const Context& context, const typename Config::Element* in,
                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!everybody_has_come(launch)) return;
  out[0] = *launch.template workspace<typename Config::Element>();
}

template <typename Element>
__device__ Element first_of(const Element* values) {
  return values[0];
}

template <typename Config>
__device__ void reads_in_a_function(const Context& context, const typename Config::Element* in,
                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  out[1] = first_of(in);
  if (!same_block_barrier(launch, Wait::arrival)) return;
  out[0] = first_of(launch.template workspace<typename Config::Element>());
}

template <typename Config>
__device__ void receives_lines(const Context& context, const typename Config::Element* in,
                               typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  const Mailbox<Config> mailbox(launch, n);
  LinePack<typename Config::Element> values;
  if (mailbox.receive_from(0, Config::root, values)) {
    MessageLine<typename Config::Element, 1>(Rows{1, n, n}, 0, true).store(out, values);
  }
}

template <typename Config>
__device__ void computes_addresses_only(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  auto* const mine = &slots[context.rank * n];
  store(on_rank(context, mine, 1), PackIndex<1, 1>{0, 1}, load(in, PackIndex<1, 1>{0, 1}));
  same_block_barrier(launch, Wait::arrival);
}

template <typename Config>
__device__ void reads_its_input(const Context& context, const typename Config::Element* in,
                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  out[thread_index()] = in[thread_index()];
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void gets_from_a_peer_behind_a_barrier(const Context& context, const typename Config::Element* in,
                                                  typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  slots[thread_index()] = in[thread_index()];
  if (!same_block_barrier(launch, Wait::arrival)) return;
  get(context, slots, out, n, 1);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_what_it_has_got_itself(const Context& context, const typename Config::Element* in,
                                             typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  get(context, in, slots, n, 1);
  out[thread_index()] = slots[0];
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_back_what_it_has_sent(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  store(context, slots + thread_index(), in[thread_index()], 1);
  out[thread_index()] = load(context, slots + thread_index(), 1);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void puts_what_it_has_written_itself(const Context& context, const typename Config::Element* in,
                                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  auto* const slots = launch.template workspace<typename Config::Element>();
  slots[thread_index()] = in[thread_index()];
  put(context, slots + thread_index(), out, 1, 1);
  same_block_barrier(launch, Wait::exit);
}
