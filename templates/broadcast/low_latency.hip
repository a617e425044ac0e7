#include <iris/device/lines.hpp>

#include "../sample_config.hpp"

using Line = MessageLine<Config::Element, Config::vector, Config::line>;
using Values = LinePack<Config::Element, Config::line>;

// The root sends its input to all in lines that carry their own flags. The others send it one empty line, so that its
// launch ends only once all that it sends to have started it.
__device__ __forceinline__ void send_to_all(const Launch<Config>& launch, const Mailbox<Config, Values>& mailbox,
                                            const Config::Element* input, Config::Element* output, const Rows& all) {
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    const Line place(all, line, /*aligned=*/true);
    const auto values = place.load(input);
#pragma unroll
    for (i32 offset = 1; offset < Config::world; ++offset) {
      mailbox.send(line, values, peer_at<Config::world>(launch.context, offset));
    }
    place.store(output, values);
  }
  for (i64 offset = 1 + threads.index; offset < Config::world; offset += threads.size) {
    Values empty;
    mailbox.receive_from(0, peer_at<Config::world>(launch.context, static_cast<i32>(offset)), empty);
  }
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  const Launch<Config> launch(context);
  const Mailbox<Config, Values> mailbox(launch, m * n);
  const Rows all = {1, m * n, m * n};
  if (context.rank == Config::root) return send_to_all(launch, mailbox, input, output, all);

  const ThreadGroup threads = grid_threads<Config>();
  if (threads.index == 0) mailbox.send(0, {}, Config::root);
  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    Values values;
    if (!mailbox.receive_from(line, Config::root, values)) break;
    Line(all, line, /*aligned=*/true).store(output, values);
  }
}
