#include <iris/device/lines.hpp>

#include "../sample_config.hpp"

// Every rank sends its input to all in lines that carry their own flags, and puts what has come in its place: one shard
// after another, or, if columns are what is gathered, side by side. What a thread writes of a rank's own shard it has
// read, so the input may be that shard.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  using Line = MessageLine<Config::Element, Config::vector, Config::line>;
  using Values = LinePack<Config::Element, Config::line>;
  const Launch<Config> launch(context);
  const Mailbox<Config, Values> mailbox(launch, m * n);
  const ThreadGroup threads = grid_threads<Config>();
  const Rows all = {1, m * n, m * n};
  const Rows shard = {m, n, Config::column_shards * n};
  const i64 shard_begins = Config::column_shards > 1 ? n : m * n;
  // Shards, and their rows, are aligned for packs if they begin on a multiple of one.
  const bool aligned = shard_begins % Config::vector == 0;

  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    const auto values = Line(all, line, aligned).load(input);
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) {
      mailbox.send(line, values, peer_at<Config::world>(context, offset));
    }
  }
  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    Values arrived[Config::world];
    if (!mailbox.receive(line, arrived)) break;
    const Line place(shard, line, aligned);
#pragma unroll
    for (i32 rank = 0; rank < Config::world; ++rank) place.store(output + rank * shard_begins, arrived[rank]);
  }
}
