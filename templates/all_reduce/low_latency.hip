#include <iris/device/lines.hpp>
#include <iris/device/reduce.hpp>

#include "../sample_config.hpp"

// Every rank sends its input to all in lines that carry their own flags, and reduces what has come. One thread reads an
// element before it writes it, so the output may be the input.
__device__ __forceinline__ void kernel(const Context& context, const Config::Element* input,
                                       const Output<Config>& output, i64 m, i64 n) {
  using Line = MessageLine<Config::Element, Config::vector, Config::line>;
  using Values = LinePack<Config::Element, Config::line>;
  Launch<Config> launch(context);
  const Mailbox<Config, Values> mailbox(launch, m * n);
  const ThreadGroup threads = grid_threads<Config>();
  const Rows all = {1, m * n, m * n};

  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    const auto values = Line(all, line, /*aligned=*/true).load(input);
#pragma unroll
    for (i32 offset = 0; offset < Config::world; ++offset) {
      mailbox.send(line, values, peer_at<Config::world>(context, offset));
    }
  }
  for (i64 line = threads.index; line < mailbox.lines(); line += threads.size) {
    Values arrived[Config::world];
    if (!mailbox.receive(line, arrived)) break;
    const Line place(all, line, /*aligned=*/true);
    const auto sums = reduce_packs<Config, Config::Operation>(arrived);
    place.store(output.data, output.finish(place.first(), sums, place.held()));
  }
}
