#include <iris/device/lines.hpp>

#include "../sample_config.hpp"

// As scatter_gather, in lines that carry their own flags: the root sends each other rank a part of its input, who sends
// it to all that have none from the root, itself among them, in the mailbox that they share with whom gets the rest.
// Two ways over the links, and no barrier. The others send the root one empty line, so that its launch ends only once
// all that it sends to have started it; of each other there comes a line.
constexpr i32 parts = Config::world > 1 ? Config::world - 1 : 1;

using Values = LinePack<Config::Element, Config::line>;
using Message = MessageInParts<Config::Element, Config::vector, Config::line, parts>;

__device__ __forceinline__ void scatter(const Context& context, const Mailbox<Config, Values>& mailbox,
                                        const Message& message, const Config::Element* input, Config::Element* output) {
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
#pragma unroll
    for (i32 part = 0; part < parts; ++part) {
      const auto values = message.load(input, part, line);
      if (Config::world > 1) mailbox.send(line, values, peer_at<Config::world>(context, part + 1));
      message.store(output, part, line, values);
    }
  }
  for (i64 offset = 1 + threads.index; offset < Config::world; offset += threads.size) {
    Values empty;
    mailbox.receive_from(0, peer_at<Config::world>(context, static_cast<i32>(offset)), empty);
  }
}

__device__ __forceinline__ void gather(const Context& context, const Mailbox<Config, Values>& mailbox,
                                       const Message& message, Config::Element* output) {
  const ThreadGroup threads = grid_threads<Config>();
  if (threads.index == 0) mailbox.send(0, {}, Config::root);
  bool arrived = true;
  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    Values values;
    arrived = mailbox.receive_from(line, Config::root, values);
    if (!arrived) break;
#pragma unroll 4  // the addresses of more ranks together are more than scalar registers hold
    for (i32 offset = 0; offset < Config::world; ++offset) {
      const i32 peer = peer_at<Config::world>(context, offset);
      if (peer != Config::root) mailbox.send(line, values, peer);
    }
  }
  for (i64 line = threads.index; arrived && line < mailbox.lines(); line += threads.size) {
    Values of_parts[parts];
    arrived = mailbox.receive_after(Config::root, line, of_parts);
    if (!arrived) break;
#pragma unroll
    for (i32 part = 0; part < parts; ++part) message.store(output, part, line, of_parts[part]);
  }
}

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input, Config::Element* output,
                                       i64 m, i64 n) {
  const Launch<Config> launch(context);
  const Message message(m * n);
  const Mailbox<Config, Values> mailbox(launch, message.lines_of_part() * Config::line);
  if (context.rank == Config::root) {
    scatter(context, mailbox, message, input, output);
  } else {
    gather(context, mailbox, message, output);
  }
}
