// What a kernel must not write, each in a case of its own: the compiler refuses it in words that say why. Without a
// case the file compiles. tests/device/CMakeLists.txt names the cases and the words.

#include "iris/device/barrier.hpp"
#include "iris/device/lines.hpp"
#include "iris/device/main_loop.hpp"
#include "iris/device/math.hpp"
#include "iris/device/reduce.hpp"

using namespace iris::device;

struct Config {
  using Element = f32;
  using Result = f32;
  using Accumulate = f32;
  static constexpr i32 world = 2;
  static constexpr i32 blocks = 2;
  static constexpr i32 threads = 64;
  static constexpr i32 vector = 4;
  static constexpr i32 tile_m = 16;
  static constexpr i32 tile_n = 16;
  static constexpr i32 tile_k = 16;
};

struct UnevenTiles : Config {
  static constexpr i32 threads = 48;
};

void kernel(const Context& context, f32* values, u32* count) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  store_pack(values, load_pack<4>(values + 4));
  atomic_store<Order::release>(count, atomic_load<Order::acquire>(count));
#if defined(MISUSE_LOAD_THAT_RELEASES)
  atomic_load<Order::release>(count);
#elif defined(MISUSE_STORE_THAT_ACQUIRES)
  atomic_store<Order::acquire>(count, 1u);
#elif defined(MISUSE_ACCESS_OF_32_BYTES)
  load_pack<8>(values);
#elif defined(MISUSE_PACK_OF_THREE)
  load_pack<3>(values);
#elif defined(MISUSE_ACCESS_WIDER_THAN_A_LINE)
  MessageLine<f32, 4>({1, 8, 8}, 0).load(values);
#elif defined(MISUSE_COPIED_LAUNCH)
  Launch<Config> copy = launch;
#elif defined(MISUSE_SIGNAL_OUTSIDE_OF_A_LAUNCH)
  signal_release(context, 0, 0, 1);
#elif defined(MISUSE_BARRIER_OF_A_CONST_LAUNCH)
  const Launch<Config>& same = launch;
  same_block_barrier(same, Wait::exit);
#elif defined(MISUSE_TILE_THAT_THREADS_CANNOT_SHARE)
  multiply_tile<UnevenTiles>(dense<const f32>(values, 1, 1), dense<const f32>(values, 1, 1), {0, 0});
#elif defined(MISUSE_ATOMIC_SUM_OF_HALVES)
  f16 half = {0};
  atomic_add(&half, half);
#elif defined(MISUSE_EXPONENTIAL_OF_AN_INTEGER)
  values[0] = exp(1);
#endif
}
