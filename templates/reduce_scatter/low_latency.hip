#include <iris/device/lines.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Every rank sends each rank its shard in lines that carry their own flags, and reduces what has come. What a thread
// writes it has read, so the output may be the shard of the rank's own.
template <i32 vector>
__device__ __forceinline__ void exchange(const Launch<Config>& launch, const Config::Element* input,
                                         const Output<Config>& output, i64 count) {
  const Mailbox<Config> mailbox(launch, count);
  const ThreadGroup threads = grid_threads<Config>();
  const Rows shard = {1, count, count};

  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    const MessageLine<Config::Element, vector> place(shard, line);
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) {
      const i32 peer = peer_at<Config::world>(launch.context, offset);
      mailbox.send(line, place.load(input + peer * count), peer);
    }
  }
  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    LinePack<Config::Element> arrived[Config::world];
    if (!mailbox.receive(line, arrived)) break;
    const MessageLine<Config::Element, vector> place(shard, line);
    const auto sums = reduce_packs<Config, Config::Operation>(arrived);
    place.store(output.data, output.finish(place.first(), sums, place.held()));
  }
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  const Launch<Config> launch(context);
  // Shards are aligned for packs if their length is a multiple of one.
  if (m * n % Config::vector == 0) {
    exchange<Config::vector>(launch, input, output, m * n);
  } else {
    exchange<1>(launch, input, output, m * n);
  }
}
