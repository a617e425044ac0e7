#include <iris/device/lines.hpp>

#include "../sample_config.hpp"

// Input and output are m rows of `world` shards of n elements. Every rank sends each rank its shard of the rows in
// lines that carry their own flags, and puts what has come in its place. A thread sends what it overwrites first, so
// the output may be the input.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  using Line = MessageLine<Config::Element, Config::vector, Config::line>;
  using Values = LinePack<Config::Element, Config::line>;
  const Launch<Config> launch(context);
  const Mailbox<Config, Values> mailbox(launch, m * n);
  const ThreadGroup threads = grid_threads<Config>();
  const Rows shard = {m, n, Config::world * n};
  const bool aligned = n % Config::vector == 0;  // as shards are if their length is a multiple of a pack

  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    const Line place(shard, line, aligned);
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) {
      const i32 peer = peer_at<Config::world>(context, offset);
      mailbox.send(line, place.load(input + peer * n), peer);
    }
  }
  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    Values arrived[Config::world];
    if (!mailbox.receive(line, arrived)) break;
    const Line place(shard, line, aligned);
#pragma unroll
    for (i32 rank = 0; rank < Config::world; ++rank) place.store(output + rank * n, arrived[rank]);
  }
}
