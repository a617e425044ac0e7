// Kernels written by hand for the tests of the CPU engine, built as a shared library like those that come out of the
// compiler. Each has the entry `<name>_host` that the engine calls.

#include "iris/device/atomics.hpp"
#include "iris/device/barrier.hpp"
#include "iris/device/lock.hpp"
#include "iris/device/reduce.hpp"

using namespace iris::device;

namespace {

/// The constants that device/ wants of a kernel.
template <i32 ranks>
struct Grid {
  static constexpr i32 world = ranks;
  static constexpr i32 blocks = 2;
  static constexpr i32 threads = 32;
};

}  // namespace

#define IRIS_HOST_ENTRY(kernel)                                                                  \
  extern "C" __attribute__((visibility("default"))) void kernel##_host(void* const* arguments) { \
    call_entry(kernel, arguments);                                                               \
  }

/// output[i] = input[i] + i modulo 2^32, no rank needs another.
extern "C" void add_index(Context, const i32* input, i32* output, i64 n) {
  using Config = Grid<1>;
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) {
    output[i] = Sum::apply(input[i], static_cast<i32>(i));
  }
}
IRIS_HOST_ENTRY(add_index)

/// output[i] = the bits of 1/3 in f32, as this thread's environment rounds.
extern "C" void a_third(Context, const i32*, i32* output, i64 n) {
  const volatile f32 one = 1;
  const volatile f32 three = 3;
  const ThreadGroup threads = grid_threads<Grid<1>>();
  for (i64 i = threads.index; i < n; i += threads.size) output[i] = __builtin_bit_cast(i32, one / three);
}
IRIS_HOST_ENTRY(a_third)

namespace {

/// Sum over all ranks by pulling from each, between two barriers.
template <typename Config>
void sum_over_ranks(const Context& context, const i32* input, i32* output, i64 n) {
  const ThreadGroup threads = grid_threads<Config>();
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  for (i64 i = threads.index; i < n; i += threads.size) {
    i32 sum = 0;
    for (i32 rank = 0; rank < Config::world; ++rank) sum = Sum::apply(sum, on_rank(context, input, rank)[i]);
    output[i] = sum;
  }
  same_block_barrier(launch, Wait::exit);
}

}  // namespace

extern "C" void sum_of_two(Context context, const i32* input, i32* output, i64 n) {
  sum_over_ranks<Grid<2>>(context, input, output, n);
}
IRIS_HOST_ENTRY(sum_of_two)

extern "C" void sum_of_three(Context context, const i32* input, i32* output, i64 n) {
  sum_over_ranks<Grid<3>>(context, input, output, n);
}
IRIS_HOST_ENTRY(sum_of_three)

/// What both ranks have, pulled one after the other: output is of 2 · n elements.
extern "C" void gather_of_two(Context context, const i32* input, i32* output, i64 n) {
  using Config = Grid<2>;
  const ThreadGroup threads = grid_threads<Config>();
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  for (i64 i = threads.index; i < Config::world * n; i += threads.size) {
    output[i] = on_rank(context, input, static_cast<i32>(i / n))[i % n];
  }
  same_block_barrier(launch, Wait::exit);
}
IRIS_HOST_ENTRY(gather_of_two)

/// Waits until each other rank has come to step 0 of this launch by the kernel's flags from number 8 on, then copies
/// what has come from all: output[i] = input[i], of 3 · n elements.
extern "C" void take_signalled(Context context, const i32* input, i32* output, i64 n) {
  using Config = Grid<3>;
  const ThreadGroup threads = grid_threads<Config>();
  Launch<Config> launch(context);
  for (i32 offset = 1; offset < Config::world; ++offset) {
    const i32 peer = peer_at<Config::world>(context, offset);
    if (!block_wait_acquire(launch, 8 + peer, 0, peer, Wait::arrival)) return;
  }
  for (i64 i = threads.index; i < Config::world * n; i += threads.size) output[i] = input[i];
}
IRIS_HOST_ENTRY(take_signalled)

/// As sum_of_three, but rank 1 forgets to tell anybody that it is there.
extern "C" void missing_signal(Context context, const i32*, i32*, i64) {
  using Config = Grid<3>;
  Launch<Config> launch(context);
  if (context.rank != 1) block_signal_release_all(launch, barrier_flag<Config>(block_index(), context.rank), 0);
  for (i32 offset = 1; offset < Config::world; ++offset) {
    const i32 peer = peer_at<Config::world>(context, offset);
    if (!block_wait_acquire(launch, barrier_flag<Config>(block_index(), peer), 0, peer, Wait::arrival)) return;
  }
}
IRIS_HOST_ENTRY(missing_signal)

/// Every rank waits for the step that its left neighbour would signal, had it counted to two.
extern "C" void wrong_step(Context context, const i32*, i32*, i64) {
  using Config = Grid<3>;
  Launch<Config> launch(context);
  const i32 right = peer_at<Config::world>(context, 1);
  const i32 left = peer_at<Config::world>(context, 2);
  block_signal_release(launch, barrier_flag<Config>(block_index(), context.rank), 1, right);
  block_wait_acquire(launch, barrier_flag<Config>(block_index(), left), 2, left, Wait::step);
}
IRIS_HOST_ENTRY(wrong_step)

/// Block b of each rank adds one to output[b] of every rank, four times: it reads, lets others run, and writes, while
/// it holds that rank's lock of block b.
extern "C" void count_under_lock(Context context, const i32*, i32* output, i64) {
  using Config = Grid<3>;
  const i64 lock_of_block = own_flag<Config>(flags_of_lock * i64{block_index()});
  i32* const count = output + block_index();
  Launch<Config> launch(context);
  if (thread_index() == 0) {
    open_lock(launch, lock_of_block);
    *count = 0;
  }
  if (!same_block_barrier(launch, Wait::entry)) return;
  for (i32 turn = 0; turn < 4 * Config::world; ++turn) {
    const i32 peer = peer_at<Config::world>(context, turn % Config::world);
    BlockLock<Config> lock(launch, lock_of_block, peer);
    if (!lock.acquire()) return;
    const i32 before = *on_rank(context, count, peer);
    sync_block();
    if (thread_index() == 0) *on_rank(context, count, peer) = before + 1;
    lock.release();
  }
  same_block_barrier(launch, Wait::exit);
}
IRIS_HOST_ENTRY(count_under_lock)

/// Rank 1 takes its own lock and keeps it; then rank 0 comes.
extern "C" void kept_lock(Context context, const i32*, i32*, i64) {
  using Config = Grid<3>;
  const i64 lock_of_block = own_flag<Config>(flags_of_lock * i64{block_index()});
  Launch<Config> launch(context);
  BlockLock<Config> lock(launch, lock_of_block, 1);
  if (context.rank == 1) {
    if (thread_index() == 0) open_lock(launch, lock_of_block);
    if (!lock.acquire()) return;
  }
  if (!same_block_barrier(launch, Wait::entry)) return;
  if (context.rank == 0 && lock.acquire()) lock.release();
}
IRIS_HOST_ENTRY(kept_lock)

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
  using Config = Grid<3>;
  Launch<Config> launch(context);
  const i64 flag = barrier_flag<Config>(block_index(), context.rank);
  if (thread_index() == 1) context.flags[flag] = launch.flag_value(1);
  if (thread_index() == 0) {
    wait_acquire(launch, flag, 1, context.rank, Wait::step);
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
  u64* counter = on_rank(context, context.flags, 0);
  for (i32 iteration = 0; iteration < 2; ++iteration) {
    const i64 place = (iteration * 2 + block_index()) * Grid<1>::threads + thread_index();
    output[place] = static_cast<i32>(atomic_add(counter, u64{1}));
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
  output[block_index() * Grid<1>::threads + thread_index()] = board.number;
}
IRIS_HOST_ENTRY(through_shared)

/// What the CPU would not do, by one thread.
extern "C" void follows_null(Context context, const i32* input, i32* output, i64 n) {
  output[n - 1] = input[0];
  if (context.rank == 1 && block_index() == 1 && thread_index() == 5) *static_cast<volatile i32*>(nullptr) = 1;
}
IRIS_HOST_ENTRY(follows_null)

extern "C" void strays_far(Context context, const i32*, i32* output, i64) {
  if (context.rank == 0 && thread_index() == 7) static_cast<volatile i32*>(output)[-(i64{1} << 40)] = 1;
}
IRIS_HOST_ENTRY(strays_far)

extern "C" void leaves_the_addresses(Context context, const i32*, i32* output, i64) {
  if (context.rank == 0 && thread_index() == 7) static_cast<volatile i32*>(output)[i64{1} << 50] = 1;
}
IRIS_HOST_ENTRY(leaves_the_addresses)

extern "C" void loads_between_packs(Context context, const i32* input, i32* output, i64) {
  if (context.rank == 0 && thread_index() == 7) store_pack(output, load_pack<4>(input + 1));
}
IRIS_HOST_ENTRY(loads_between_packs)

namespace {

/// With 128 KiB of its own.
__attribute__((noinline)) void use_large_array(i32* output, i64 n) {
  volatile i32 large[32 << 10];
  large[n] = 1;
  output[0] = large[n];
}

}  // namespace

extern "C" void needs_stack(Context context, const i32*, i32* output, i64 n) {
  if (context.rank == 2 && block_index() == 1 && thread_index() == 9) use_large_array(output, n);
}
IRIS_HOST_ENTRY(needs_stack)

extern "C" void divides_by_zero(Context, const i32*, i32* output, i64 n) {
  const volatile i32 zero = 0;
  if (block_index() == 0 && thread_index() == 31) output[0] = static_cast<i32>(n) / zero;
}
IRIS_HOST_ENTRY(divides_by_zero)

/// As on a GPU, a wait that ran out of time: the kernel records it and returns.
extern "C" void raises_fault(Context context, const i32*, i32*, i64) {
  if (context.rank == 2 && thread_index() == 0)
    raise_fault(context, 0, Wait::arrival, u64{3} << flag_step_bits | 7, u64{3} << flag_step_bits | 6);
}
IRIS_HOST_ENTRY(raises_fault)

/// As two graphs of one operation may make it on a GPU: rank 1 begins a launch before its last has ended, and waits in
/// vain.
extern "C" void overlaps(Context context, const i32*, i32*, i64) {
  if (context.rank != 1 || thread_index() != 0) return;
  context.launches[block_index()].begun += 2;
  raise_fault(context, 0, Wait::arrival, u64{3} << flag_step_bits | 7, u64{3} << flag_step_bits | 6);
}
IRIS_HOST_ENTRY(overlaps)
