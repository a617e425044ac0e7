// Memory of other ranks, read and written as if it were this one's.
#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

template <typename Config>
__device__ void reads_through_a_star(const Context& context, const typename Config::Element* in,
                                     typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto* theirs = on_rank(context, in, 1);
  out[0] = *theirs;  // expect: iris-remote-dereference
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_through_an_index(const Context& context, const typename Config::Element* in,
                                       typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const i32 peer = peer_at<Config::world>(context, 1);
  for (i64 i = thread_index(); i < m * n; i += Config::threads) {
    out[i] = on_rank(context, in, peer)[i];  // expect: iris-remote-dereference
  }
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void writes_through_an_index(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  auto* const theirs = on_rank(context, out, peer_at<Config::world>(context, 1));
  const Range shard = shard_of(m * n, Config::blocks, block_index(), Config::vector);
  for (i64 i = shard.begin + thread_index(); i < shard.end; i += Config::threads) {
    theirs[i] = in[i];  // expect: iris-remote-dereference
  }
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void adds_to_what_lies_there(const Context& context, const typename Config::Element* in,
                                        typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  auto* theirs = on_rank(context, out, Config::root) + block_index();
  if (thread_index() == 0) *theirs += in[0];  // expect: iris-remote-dereference
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_in_a_loop_over_packs(const Context& context, const typename Config::Element* in,
                                           typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto* theirs = on_rank(context, in, peer_at<Config::world>(context, 1));
  for_each_pack<1, 1>(grid_threads<Config>(), Range{0, m * n}, [&](const auto& index) {
    out[index[0]] = theirs[index[0]];  // expect: iris-remote-dereference
  });
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_from_one_of_many(const Context& context, const typename Config::Element* in,
                                       typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const typename Config::Element* inputs[Config::world];
  for (i32 rank = 0; rank < Config::world; ++rank) inputs[rank] = on_rank(context, in, rank);
  typename Config::Element sum = 0;
  for (i32 rank = 0; rank < Config::world; ++rank)
    sum += inputs[rank][thread_index()];  // expect: iris-remote-dereference
  out[thread_index()] = sum;
  same_block_barrier(launch, Wait::exit);
}

template <typename Element>
__device__ Element first_of(const Element* values) {
  return values[0];  // expect: iris-remote-dereference
}

template <typename Config>
__device__ void hands_the_address_to_a_function(const Context& context, const typename Config::Element* in,
                                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  out[0] = first_of(on_rank(context, in, peer_at<Config::world>(context, 1)));
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ const typename Config::Element* neighbour(const Context& context, const typename Config::Element* mine) {
  return on_rank(context, mine, peer_at<Config::world>(context, 1));
}

template <typename Config>
__device__ void gets_the_address_from_a_function(const Context& context, const typename Config::Element* in,
                                                 typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto* const theirs = neighbour<Config>(context, in);
  out[n] = theirs[n] * 2;  // expect: iris-remote-dereference
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void computes_the_address_itself(const Context& context, const typename Config::Element* in,
                                            typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const i64 offset = reinterpret_cast<const char*>(in) - context.bases[0][context.rank];
  const auto* theirs = reinterpret_cast<const f32*>(context.bases[0][1] + offset);
  if (thread_index() == 0) out[0] = theirs[0];  // expect: iris-remote-dereference
  same_block_barrier(launch, Wait::exit);
}

struct Header {
  u32 length;
  u32 kind;
};

template <typename Config>
__device__ void reads_a_member(const Context& context, const Header* headers, u32* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const Header* theirs = on_rank(context, headers, 1);
  out[thread_index()] = theirs->length;  // expect: iris-remote-dereference
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void copies_as_bytes(const Context& context, const typename Config::Element* in,
                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  if (thread_index() == 0) __builtin_memcpy(on_rank(context, out, 1), in, 64);  // expect: iris-remote-dereference
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void takes_whichever_is_right(const Context& context, const typename Config::Element* in,
                                         typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto* from = context.rank == Config::root ? in : on_rank(context, in, Config::root);
  out[thread_index()] = from[thread_index()];  // expect: iris-remote-dereference
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void reads_what_on_peers_gives(const Context& context, const typename Config::Element* in,
                                          typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto theirs = on_peers<Config::world>(context, in);
  for (i32 offset = 1; offset < Config::world; ++offset) {
    out[offset] = theirs[offset][thread_index()];  // expect: iris-remote-dereference
  }
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void writes_through_one_of_the_peers(const Context& context, const typename Config::Element* in,
                                                typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto theirs = on_peers<Config::world>(context, out);
  auto* const next = theirs[1];
  next[thread_index()] = in[thread_index()];  // expect: iris-remote-dereference
  same_block_barrier(launch, Wait::exit);
}

template <typename Config>
__device__ void takes_the_pointers_themselves(const Context& context, const typename Config::Element* in,
                                              typename Config::Element* out, i64 m, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const auto theirs = on_peers<Config::world>(context, in);
  out[0] = *theirs.objects[Config::world - 1];  // expect: iris-remote-dereference
  same_block_barrier(launch, Wait::exit);
}
