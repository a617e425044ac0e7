#include "generator/plan/pipeline.hpp"

#include <algorithm>
#include <cmath>

namespace irisgen {
namespace {

/// The smallest chunk with which no launch takes more steps than a flag counts (device/signal.hpp).
std::int64_t least_chunk(const Request& request, const KernelPlan& kernel, int vector) {
  constexpr std::int64_t most_steps = std::int64_t{1} << 24;
  constexpr std::int64_t most_elements = std::int64_t{1} << 40;  // that the language allows on all ranks together
  const std::int64_t elements =
      static_count(request.problem, {{"m"}, {"n"}}).value_or(most_elements / request.problem.world);
  return round_up(elements / kernel.number("blocks") / most_steps + 1, vector);
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

std::int64_t choose_chunk(const Request& request, KernelPlan& kernel, int vector, std::int64_t on_gpu) {
  constexpr std::int64_t on_host = 64;  // short messages, too, are several
  const std::int64_t least = least_chunk(request, kernel, vector);
  const std::int64_t chunk = decide(request, kernel, "chunk", std::max(least, request.on_host() ? on_host : on_gpu),
                                    "elements that a block passes on at a time",
                                    "long enough to hide a signal, short enough that the next rank begins soon");
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

}  // namespace

void choose_pipeline(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements,
                     std::int64_t element_bytes, int vector, const ChunkBytes& bytes) {
  const Target& target = request.target;
  const std::int64_t moving = request.on_host() ? target.threads : target.threads / 2;
  const std::int64_t threads = decide(request, kernel, "threads", moving + target.wave, "",
                                      std::to_string(moving) + " move, a wave announces what they have moved");
  const std::int64_t movers = threads > target.wave ? threads - target.wave : std::max<std::int64_t>(1, threads);

  const std::int64_t block_takes = movers * vector;
  const std::int64_t blocks =
      decide_blocks(request, kernel, elements, block_takes, 2,
                    "known only at launch: twice as many as keep the links busy, since some wait for chunks");
  bound_grid(request, kernel);

  std::optional<std::int64_t> share = elements;
  if (share) *share = divide_up(*share, blocks);
  const std::int64_t chunk = choose_chunk(request, kernel, vector, best_chunk(share, element_bytes, bytes));
  choose_unroll(request, kernel, 2, "accesses in flight", std::max<std::int64_t>(chunk / block_takes, 1));
}

double bytes_of_turn(const KernelPlan& kernel, std::int64_t element_bytes) {
  return static_cast<double>(kernel.number("chunk") * kernel.number("blocks") * element_bytes);
}

}  // namespace irisgen
