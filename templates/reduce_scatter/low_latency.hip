#include <iris/device/lines.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Every rank sends each rank its shard in lines that carry their own flags, and reduces what has come. What a thread
// writes it has read, so the output may be the shard of the rank's own.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  using Line = MessageLine<Config::Element, Config::vector, Config::line>;
  using Values = LinePack<Config::Element, Config::line>;
  const Launch<Config> launch(context);
  const i64 count = m * n;
  const Mailbox<Config, Values> mailbox(launch, count);
  const ThreadGroup threads = grid_threads<Config>();
  const Rows shard = {1, count, count};
  const bool aligned = count % Config::vector == 0;  // as shards are if their length is a multiple of a pack

  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    const Line place(shard, line, aligned);
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) {
      const i32 peer = peer_at<Config::world>(context, offset);
      mailbox.send(line, place.load(input + peer * count), peer);
    }
  }
  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    Values arrived[Config::world];
    if (!mailbox.receive(line, arrived)) break;
    const Line place(shard, line, aligned);
    const auto sums = reduce_packs<Config, Config::Operation>(arrived);
    place.store(output.data, output.finish(place.first(), sums, place.held()));
  }
}
