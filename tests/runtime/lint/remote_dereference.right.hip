// Memory of other ranks by the vocabulary's accesses, and this rank's own by any.
#include <iris/device/atomics.hpp>
#include <iris/device/barrier.hpp>
#include <iris/device/reduce.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void reads_by_load(const Context& context, const typename Config::Element* in, typename Config::Element* out,
                              i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  out[thread_index()] = load(context, in + thread_index(), 1);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_by_packs(const Context& context, const typename Config::Element* in,
                               typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto* theirs = on_rank(context, in, 1);
  for_each_pack<Config::vector, Config::unroll>(grid_threads<Config>(), Range{0, m * n},
                                                [&](const auto& index) { store(out, index, load(theirs, index)); });
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void writes_by_store(const Context& context, const typename Config::Element* in,
                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  store(context, out + thread_index(), in[thread_index()], 2);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void takes_one_element_of_a_pack(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto* theirs = on_rank(context, in, 1);
  out[0] = load_pack<1>(theirs + n)[0];
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void adds_by_an_atomic(const Context& context, const typename Config::Element* in,
                                  typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  auto* theirs = on_rank(context, out, 1);
  atomic_add(&theirs[thread_index()], in[thread_index()]);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void computes_addresses_only(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  auto* theirs = on_rank(context, out, 1);
  auto* const row = &theirs[n * block_index()];
  theirs += 4;
  if (thread_index() == 0 && row != theirs) store_pack(row, Pack<typename Config::Element, 1>{{in[0]}});
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void keeps_addresses_in_an_array(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const typename Config::Element* inputs[Config::world];
  for (i32 rank = 0; rank < Config::world; ++rank) inputs[rank] = on_rank(context, in, rank);
  for_each_pack<Config::vector, 1>(grid_threads<Config>(), Range{0, m * n}, [&](const auto& index) {
    store(out, index, load_and_reduce<Config, Sum>(inputs, index));
  });
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_its_own_heap(const Context& context, const typename Config::Element* in,
                                   typename Config::Element* out, i64 m, i64 n) {
  const i64 offset = reinterpret_cast<const char*>(in) - context.bases[0][context.rank];
  const auto* mine = reinterpret_cast<const f32*>(context.bases[0][context.rank] + offset);
  if (thread_index() == 0) out[0] = mine[0];
}

template <typename Config>
__device__ void comes_back_to_its_own_memory(const Context& context, const typename Config::Element* in,
                                             typename Config::Element* out, i64 m, i64 n) {
  const typename Config::Element* from = nullptr;
  from = in + 4;
  out[thread_index()] = from[thread_index()] + *in;
}

template <typename Element>
__device__ Element last_of(const Element* values, i64 count) {
  return values[count - 1];
}

template <typename Config>
__device__ void hands_its_own_address_to_a_function(const Context& context, const typename Config::Element* in,
                                                    typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  put(context, in, out, 1, 1);
  out[1] = last_of(in, m * n);
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void stores_to_what_on_peers_gives(const Context& context, const typename Config::Element* in,
                                              typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto theirs = on_peers<Config::world>(context, out);
  for (i32 offset = 1; offset < Config::world; ++offset) {
    store_pack(theirs[offset] + thread_index(), load_pack<1>(in + thread_index()));
  }
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void writes_to_the_first_of_the_peers_which_is_itself(const Context& context,
                                                                 const typename Config::Element* in,
                                                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto theirs = on_peers<Config::world>(context, out);
  theirs[0][thread_index()] = in[thread_index()];
  *theirs.objects[0] = in[1];
  same_block_barrier(launch, Wait::exit);
}
