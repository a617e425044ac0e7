// Kernels written by hand for the tests of the CPU engine, built as a shared library like those that come out of the
// compiler. Each has the entry `<name>_host` that the engine calls.

#include <iris/device/reduce.hpp>
#include <iris/device/sync.hpp>

using namespace iris::device;

namespace {

/// The constants that device/sync.hpp wants of a kernel.
template <i32 ranks>
struct Pairwise {
  static constexpr i32 world = ranks;
  static constexpr i32 threads = 32;
};

}  // namespace

#define IRIS_HOST_ENTRY(kernel)                                                                  \
  extern "C" __attribute__((visibility("default"))) void kernel##_host(void* const* arguments) { \
    call_entry(kernel, arguments);                                                               \
  }

/// output[i] = input[i] + i modulo 2^32, no rank needs another.
extern "C" void add_index(Context, const i32* input, i32* output, i64 n) {
  const i64 stride = 2 * Pairwise<1>::threads;
  for (i64 i = block_index() * Pairwise<1>::threads + thread_index(); i < n; i += stride) {
    output[i] = Sum::apply(input[i], static_cast<i32>(i));
  }
}
IRIS_HOST_ENTRY(add_index)

/// Sum over three ranks by pulling from all, between two barriers.
extern "C" void sum_of_three(Context context, const i32* input, i32* output, i64 n) {
  using Config = Pairwise<3>;
  const Epoch epoch = begin_launch(context);
  if (!barrier<Config>(context, epoch.step + 1, Wait::entry)) return;
  for (i64 i = block_index() * Config::threads + thread_index(); i < n; i += 2 * Config::threads) {
    i32 sum = 0;
    for (i32 rank = 0; rank < Config::world; ++rank) sum = Sum::apply(sum, on_rank(context, input, rank)[i]);
    output[i] = sum;
  }
  if (!barrier<Config>(context, epoch.step + 2, Wait::exit)) return;
  end_launch(context, epoch, 2);
}
IRIS_HOST_ENTRY(sum_of_three)

/// As sum_of_three, but rank 1 forgets to tell anybody that it is there.
extern "C" void missing_signal(Context context, const i32*, i32*, i64) {
  using Config = Pairwise<3>;
  const Epoch epoch = begin_launch(context);
  if (context.rank != 1)
    block_signal_all<Config>(context, flag_of<Config>(block_index(), context.rank), epoch.step + 1);
  for (i32 hop = 1; hop < Config::world; ++hop) {
    const i32 peer = rank_after<Config::world>(context, hop);
    if (!block_wait(context, flag_of<Config>(block_index(), peer), epoch.step + 1, peer, Wait::arrival)) return;
  }
  end_launch(context, epoch, 1);
}
IRIS_HOST_ENTRY(missing_signal)

/// Every rank waits for the step that its left neighbour would send, had it counted to two.
extern "C" void wrong_step(Context context, const i32*, i32*, i64) {
  using Config = Pairwise<3>;
  const i32 right = rank_after<Config::world>(context, 1);
  const i32 left = rank_after<Config::world>(context, 2);
  block_signal(context, flag_of<Config>(block_index(), context.rank), 1, right);
  block_wait(context, flag_of<Config>(block_index(), left), 2, left, Wait::step);
}
IRIS_HOST_ENTRY(wrong_step)

/// Thread 0 leaves before the block sync that the others come to.
extern "C" void divergent_sync(Context, const i32*, i32*, i64) {
  if (thread_index() == 0) return;
  sync_block();
}
IRIS_HOST_ENTRY(divergent_sync)

/// Rank 0 polls a flag, by atomic loads, that nobody ever sets.
extern "C" void poll_in_vain(Context context, const i32*, i32*, i64) {
  if (context.rank != 0) return;
  while (atomic_load<Order::acquire>(context.flags) == 0) {
  }
}
IRIS_HOST_ENTRY(poll_in_vain)

/// A wait whose flag is set by a plain store, of which the engine is not told.
extern "C" void plain_store(Context context, const i32*, i32* output, i64) {
  using Config = Pairwise<3>;
  const i64 flag = flag_of<Config>(block_index(), context.rank);
  if (thread_index() == 1) context.flags[flag] = 1;
  if (thread_index() == 0) {
    wait(context, flag, 1, context.rank, Wait::step);
    output[block_index()] = 1;
  }
}
IRIS_HOST_ENTRY(plain_store)

/// Writes just before its output, and into its input.
extern "C" void strays(Context, i32* input, i32* output, i64) {
  if (block_index() != 0 || thread_index() != 0) return;
  output[-1] = 0;
  input[0] = ~input[0];
}
IRIS_HOST_ENTRY(strays)

/// Each thread draws a number from a counter that all ranks share (rank 0's flag 0) and notes it: the order in which
/// the engine ran them.
extern "C" void note_order(Context context, const i32*, i32* output, i64) {
  u32* counter = on_rank(context, context.flags, 0);
  for (i32 turn = 0; turn < 2; ++turn) {
    const i64 place = (turn * 2 + block_index()) * Pairwise<1>::threads + thread_index();
    output[place] = static_cast<i32>(atomic_add(counter, 1u));
  }
}
IRIS_HOST_ENTRY(note_order)

/// Shared memory is the block's own: thread 31 publishes, all read.
extern "C" void through_shared(Context context, const i32*, i32* output, i64) {
  struct Board {
    i32 number;
  };
  Board& board = shared<Board>();
  if (thread_index() == 31) board.number = 100 * context.rank + block_index();
  sync_block();
  output[block_index() * Pairwise<1>::threads + thread_index()] = board.number;
}
IRIS_HOST_ENTRY(through_shared)

/// As on a GPU, a wait that ran out of time: the kernel records it and returns.
extern "C" void raises_fault(Context context, const i32*, i32*, i64) {
  if (context.rank == 2 && thread_index() == 0) raise_fault(context, 0, Wait::arrival, 7, 6);
}
IRIS_HOST_ENTRY(raises_fault)
