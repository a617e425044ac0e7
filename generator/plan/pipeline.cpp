#include "generator/plan/pipeline.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace irisgen {
namespace {

/// The smallest chunk with which no launch takes more steps than a flag counts (device/signal.hpp), where so many
/// blocks divide the chunks of so many elements among them.
std::int64_t least_chunk(const Request& request, std::optional<std::int64_t> elements, std::int64_t blocks,
                         int vector) {
  constexpr std::int64_t most_steps = std::int64_t{1} << 24;
  constexpr std::int64_t most_elements = std::int64_t{1} << 40;  // that the language allows on all ranks together
  return round_up(elements.value_or(most_elements / request.problem.world) / blocks / most_steps + 1, vector);
}

/// A power of two of elements.
std::int64_t best_chunk(std::optional<std::int64_t> share, std::int64_t element_bytes, const ChunkBytes& bytes) {
  std::int64_t best = bytes.of_dynamic;
  if (share) {
    const double square = static_cast<double>(*share * element_bytes) * bytes.per_share;
    const double exponent = std::round(std::log2(std::max(square, 1.0)) / 2);
    best = std::clamp(static_cast<std::int64_t>(std::exp2(exponent)), bytes.least, bytes.most);
  }
  return best / element_bytes;
}

/// As measured on two H200, 16 MiB to 1 GiB, where there is one other rank. A block pushes a chunk to each of the
/// others before it looks for what comes next, so they are as much shorter as there are more of these.
ChunkBytes chunks_to_all(int world) {
  const auto others = static_cast<unsigned>(std::max(1, world - 1));
  constexpr std::int64_t least = 4096;
  const std::int64_t most = std::max<std::int64_t>(least, std::bit_floor(65536U / others));
  return {.least = least, .most = most, .of_dynamic = most, .per_share = 8192.0 / others};
}

/// Of at least so many elements.
std::int64_t choose_chunk(const Request& request, KernelPlan& kernel, int vector, std::int64_t least,
                          std::int64_t on_gpu) {
  constexpr std::int64_t on_host = 64;  // short messages, too, are several
  const std::int64_t chunk =
      decide(request, kernel, "chunk", std::max(least, request.on_host() ? on_host : on_gpu),
             "elements that a block passes on at a time",
             "long enough to hide a signal, short enough that who waits for the first begins soon");
  if (chunk < vector || chunk % vector != 0) {
    refuse(
        request, "chunk",
        "a chunk of " + std::to_string(chunk) + " elements; write a multiple of the vector, " + std::to_string(vector));
  }
  if (chunk < least) {
    refuse(request, "chunk",
           "a chunk of " + std::to_string(chunk) + " elements may take more than 2^24 steps; write " +
               std::to_string(least) + " or more");
  }
  return chunk;
}

/// `threads`: those that move chunks, and the wave that announces them. How many move.
std::int64_t choose_threads(const Request& request, KernelPlan& kernel, std::int64_t moving) {
  const std::int64_t wave = request.target.wave;
  const std::int64_t threads = decide(request, kernel, "threads", moving + wave, "",
                                      std::to_string(moving) + " move, a wave announces what they have moved");
  return threads > wave ? threads - wave : std::max<std::int64_t>(1, threads);
}

}  // namespace

void choose_pipeline(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements,
                     std::int64_t element_bytes, int vector, const ChunkBytes& bytes) {
  const Target& target = request.target;
  const std::int64_t movers = choose_threads(request, kernel, request.on_host() ? target.threads : target.threads / 2);
  const std::int64_t block_takes = movers * vector;
  const std::int64_t blocks =
      decide_blocks(request, kernel, elements, block_takes, 2,
                    "known only at launch: twice as many as keep the links busy, since some wait for chunks");
  bound_grid(request, kernel);

  std::optional<std::int64_t> share = elements;
  if (share) *share = divide_up(*share, blocks);
  const std::int64_t least = least_chunk(request, static_count(request.problem, {{"m"}, {"n"}}), blocks, vector);
  const std::int64_t chunk = choose_chunk(request, kernel, vector, least, best_chunk(share, element_bytes, bytes));
  choose_unroll(request, kernel, 2, "accesses in flight", std::max<std::int64_t>(chunk / block_takes, 1));
}

void choose_push_and_reduce(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> shard, int vector) {
  const Problem& problem = request.problem;
  const std::int64_t movers = choose_threads(request, kernel, request.target.threads);
  const std::int64_t block_takes = movers * vector;
  const std::int64_t blocks = decide_blocks(request, kernel, shard, block_takes, 2,
                                            "known only at launch: as many push as keep the links busy", 2);
  const std::int64_t pushing = decide(request, kernel, "comm_blocks", std::max<std::int64_t>(1, blocks / 2),
                                      "that push", "the others reduce, and have as much to do");
  bound_grid(request, kernel);
  check_comm_blocks(request, kernel, "push", "reduce");

  std::optional<std::int64_t> share = shard;
  if (share) *share = divide_up(*share, pushing);
  const std::int64_t least = least_chunk(request, shard, std::min(pushing, blocks - pushing), vector);
  const std::int64_t best = best_chunk(share, iris::bytes_of(problem.dtype), chunks_to_all(problem.world));
  const std::int64_t chunk = choose_chunk(request, kernel, vector, least, best);
  choose_unroll(request, kernel, problem.world, "accesses in flight for each rank",
                std::max<std::int64_t>(chunk / block_takes, 1));
  constexpr std::int64_t most_turns = 4;  // twice as many take 1 % less time, and as much more of the heap
  const std::int64_t turns = share ? std::clamp<std::int64_t>(divide_up(*share, chunk), 1, most_turns) : most_turns;
  const std::int64_t ring = turns * pushing;
  add_number(kernel, "ring", ring, "slots for each other rank", std::to_string(turns) + " for each block that pushes");
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel, blocks * problem.world);
  kernel.workspace =
      workspace_of(problem, static_cast<int>((problem.world - 1) * ring), {}, problem.dtype, static_cast<int>(chunk));
}

double links_of_pushes(const Target& target) {
  return target.measured ? 1.05 : 1;
}

double bytes_of_turn(const KernelPlan& kernel, std::int64_t element_bytes) {
  return static_cast<double>(kernel.number("chunk") * kernel.number("blocks") * element_bytes);
}

}  // namespace irisgen
