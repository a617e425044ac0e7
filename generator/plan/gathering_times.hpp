#pragma once

#include <cstdint>

#include "generator/plan/fast_loops.hpp"

/// How long products take whose rows come from other ranks meanwhile.
namespace irisgen {

/// So many tiles from top to bottom of each rank's part are multiplied together, where rows come from all ranks at
/// once: two, or as many as that turn needs, and no more than `highest` of all ranks.
std::int64_t arriving_band(std::int64_t columns, std::int64_t tile_n, int parts, std::int64_t highest,
                           std::int64_t blocks);

/// Who multiplies rows, and how long that takes once they are there.
struct Multiplying {
  std::int64_t blocks;
  Tiles tiles;
  double tile_us;
  double sustained_us;  ///< all tiles, at the rate that the chip's power sustains
};

/// Until the last block is done, of an order of tiles as the templates of all_gather_matmul have it, where
/// `comm_blocks` more push rows, or those that multiply, or copy engines do. The problem is static.
double gathering_us(const FastLoop& loop, const Problem& problem, const Target& target, const Products& products,
                    std::int64_t comm_blocks, const Multiplying& multiplying);

}  // namespace irisgen
