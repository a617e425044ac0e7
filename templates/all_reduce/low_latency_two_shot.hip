#include <iris/device/lines.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// As two_shot, in lines that carry their own flags: every rank sends each rank its part of the input, who reduces what
// has come and sends the results to all. Two ways over the links, and no barrier: of each rank there comes a line even
// if its part is empty. One thread reads an element before it writes it, so the output may be the input.
using Message = MessageInParts<Config::Element, Config::vector, Config::line, Config::world>;
using Values = LinePack<Config::Element, Config::line>;
using Results = LinePack<Config::Result, Config::line>;

__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  Launch<Config> launch(context);
  const Message message(m * n);
  const i64 part_count = message.lines_of_part() * Config::line;
  const Mailbox<Config, Values> inputs(launch, part_count);
  const Mailbox<Config, Results> results(launch, part_count, inputs.bytes());
  const ThreadGroup threads = grid_threads<Config>();

  for (i64 line = threads.index; line < inputs.lines(); line += threads.size) {
#pragma unroll 4  // the addresses of more ranks together are more than scalar registers hold
    for (i32 offset = 0; offset < Config::world; ++offset) {
      const i32 peer = peer_at<Config::world>(context, offset);
      inputs.send(line, message.load(input, peer, line), peer);
    }
  }
  bool arrived = true;
  for (i64 line = threads.index; line < inputs.lines(); line += threads.size) {
    Values of_ranks[Config::world];
    arrived = inputs.receive(line, of_ranks);
    if (!arrived) break;
    const auto sums = reduce_packs<Config, Config::Operation>(of_ranks);
    Results reduced = {};
    if (message.has(context.rank, line)) {
      const auto place = message.at(context.rank, line);
      reduced = output.finish(place.first(), sums, place.held());
    }
#pragma unroll 4
    for (i32 offset = 0; offset < Config::world; ++offset) {
      results.send(line, reduced, peer_at<Config::world>(context, offset));
    }
  }
  for (i64 line = threads.index; arrived && line < results.lines(); line += threads.size) {
    Results of_parts[Config::world];
    arrived = results.receive(line, of_parts);
    if (!arrived) break;
#pragma unroll
    for (i32 part = 0; part < Config::world; ++part) message.store(output.data, part, line, of_parts[part]);
  }
}
