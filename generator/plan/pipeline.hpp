#pragma once

#include <cstdint>
#include <optional>

#include "generator/plan/planning.hpp"

/// Kernels whose blocks pass messages on chunk by chunk (device/pipeline.hpp).
namespace irisgen {

/// How long chunks are on a GPU, in bytes. Whoever waits for the first one has nothing to do before, and nobody else
/// has after the last, which speaks for short ones, and each takes time of its own: the best length grows with the
/// square root of a message's.
struct ChunkBytes {
  std::int64_t least;
  std::int64_t most;
  std::int64_t of_dynamic;  ///< where nobody knows how long a message is
  double per_share;         ///< times the bytes of a block's share it is the square of the best length
};

/// `threads`, `blocks`, `chunk` (elements that a block passes on at a time), and `unroll`. Each block passes on its
/// share of `elements`, which take `element_bytes` on their way.
void choose_pipeline(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements,
                     std::int64_t element_bytes, int vector, const ChunkBytes& bytes);

/// Everything that kernels of device/push_and_reduce.hpp share, but for their buffers: each rank reduces a shard of so
/// many elements, or fewer.
void choose_push_and_reduce(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> shard, int vector);

/// What blocks that do nothing but push reach of a GPU's link_gbs where that is measured: as on two H200, 16 MiB to 1
/// GiB in chunks, and on four in pushes of all_gather, 64 MiB to 1 GiB, within 4 %.
double links_of_pushes(const Target& target);

/// What the blocks of a rank pass on at a time.
double bytes_of_turn(const KernelPlan& kernel, std::int64_t element_bytes);

}  // namespace irisgen
