// volatile, where an atomic or a signal belongs.
#include <iris/device/barrier.hpp>

using namespace iris::device;

volatile u32 ready = 0;  // expect: iris-volatile

struct Mailboxes {
  volatile u32 arrived;  // expect: iris-volatile
  volatile f32* slots;   // expect: iris-volatile
};

template <typename Config>
__device__ void poll(volatile u32* flag) {  // expect: iris-volatile
  while (*flag == 0) {
  }
}

template <typename Config>
__device__ void hands_it_to_a_function(const Context& context, u32* flag, i64 m, i64 n) {
  poll<Config>(flag);
}

template <typename Config>
__device__ void polls_through_a_cast(const Context& context, u32* flag, i64 m, i64 n) {
  while (*static_cast<volatile u32*>(flag) == 0) {  // expect: iris-volatile
  }
}

template <typename Config>
__device__ void polls_through_an_old_cast(const Context& context, u64* flag, i64 m, i64 n) {
  while (*(volatile u64*)flag < 4) {  // expect: iris-volatile
  }
}

template <typename Config>
__device__ void polls_through_a_variable(const Context& context, u32* flag, i64 m, i64 n) {
  volatile u32* const watched = flag;  // expect: iris-volatile
  while (*watched == 0) {
  }
}

template <typename Config>
__device__ void polls_through_a_reference(const Context& context, u32* flag, i64 m, i64 n) {
  volatile u32& watched = flag[block_index()];  // expect: iris-volatile
  while (watched == 0) {
  }
}

template <typename Config>
__device__ void deduces_the_type(const Context& context, u32* flag, i64 m, i64 n) {
  auto* watched = const_cast<volatile u32*>(flag);  // expect: iris-volatile
  while (*watched == 0) {
  }
}

template <typename Config>
__device__ void stores_to_another_rank(const Context& context, u32* flag, i64 m, i64 n) {
  volatile u32* theirs = on_rank(context, flag, 1);  // expect: iris-volatile
  static_cast<void>(theirs);
}

using Watched = volatile u32*;

template <typename Config>
__device__ void hides_it_behind_a_name(const Context& context, u32* flag, i64 m, i64 n) {
  Watched watched = flag;  // expect: iris-volatile
  static_cast<void>(watched);
}

template <typename Config>
__device__ void shares_it_in_the_block(const Context& context, u32* out, i64 m, i64 n) {
  static volatile u32 turn = 0;  // expect: iris-volatile
  if (thread_index() == 0) turn = 1;
}
