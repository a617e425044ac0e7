#include <iris/device/rma.hpp>
#include <iris/device/signal.hpp>

using namespace iris::device;

/// Every rank is the producer of the next one and the consumer of the one before. Messages pass through a mailbox of a
/// few slots in the consumer's memory; a producer that runs ahead waits until a slot is empty.
/// \param sums the consumer's own values plus those of its producer
template <typename Config>
__device__ void add_previous(const Context& context, const typename Config::Element* values,
                             typename Config::Element* sums, i64 n) {
  using Element = typename Config::Element;
  Launch<Config> launch(context);
  // Each block has a mailbox, and two flags: what its producer has sent, and what its consumer has taken.
  const i64 own_flags = flags<2 * Config::blocks>(launch) + 2 * block_index();
  const i64 sent = own_flags;
  const i64 taken = own_flags + 1;
  Element* const mailboxes = workspace<Element>(launch, Config::blocks * Config::slots * Config::message);
  Element* const mailbox = mailboxes + block_index() * Config::slots * Config::message;
  const i32 consumer = peer_at<Config::world>(context, 1 % Config::world);
  const i32 producer = peer_at<Config::world>(context, Config::world - 1);
  const Range all = shard_of(n, Config::blocks, block_index(), 1);

  i32 number = 0;
  for (; number * i64{Config::message} < all.end - all.begin; ++number) {
    const Range message = chunk_of(all, number, Config::message);
    Element* const slot = mailbox + number % Config::slots * Config::message;
    const bool must_wait = number >= Config::slots;
    if (must_wait && !block_wait_acquire(launch, taken, number - Config::slots, consumer, Wait::step)) return;
    for (i64 i = message.begin + thread_index(); i < message.end; i += Config::threads)
      store(context, slot + i - message.begin, values[i], consumer);
    block_signal_release(launch, sent, number, consumer);

    if (!block_wait_acquire(launch, sent, number, producer, Wait::arrival)) return;
    for (i64 i = message.begin + thread_index(); i < message.end; i += Config::threads)
      sums[i] = values[i] + slot[i - message.begin];
    block_signal_release(launch, taken, number, producer);
  }
  // The next launch but one uses the same slots: no producer is further ahead than that.
  if (number > 0) block_wait_acquire(launch, taken, number - 1, consumer, Wait::exit);
}
