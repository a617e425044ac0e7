#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "generator/plan/fast_loops.hpp"

/// How long products take in a fast loop, and the tiles with which they take least.
namespace irisgen {

/// Of all products together, each part of a tile counted; nothing if an extent is dynamic.
std::optional<std::int64_t> tiles_of(const Problem& problem, const Products& products, std::int64_t tile_m,
                                     std::int64_t tile_n);

/// Of the pieces, `tile` long but for the last, that a dimension is cut into; `tile` if it is dynamic.
double average_length(const Problem& problem, const Dimension& of, std::int64_t tile);

/// That are left to copies for which the products wait, since AMD's runtime may make kernels of them.
std::int64_t compute_units_of_copies(const Target& target, const Products& products);

/// How many parts blocks make of so many tiles, each of one that is left in `parts`, as templates/matmul/split_k.hip
/// has it: none, unless each has a block.
std::int64_t parts_left(std::int64_t tiles, std::int64_t parts, std::int64_t blocks);

/// Of the compute units: those in which each makes a tile, and then, where blocks make parts of tiles, those in which
/// each makes a part of one that is left.
struct Turns {
  std::int64_t of_tiles;
  std::int64_t of_parts;
};
Turns turns_of(const Problem& problem, const Products& products, const Tiles& tiles, std::int64_t blocks);

struct LoopChoice {
  Tiles tiles;
  std::int64_t comm_blocks;
  std::optional<Turns> turns;  ///< none if an extent is dynamic
  double us;                   ///< that all of them take
};

/// The tile, and the number of blocks that do not multiply, with which a launch takes least time; what `config:` has
/// settled stays.
LoopChoice choose_for(const FastLoop& loop, const Request& request, const Products& products);
std::string turns_text(const std::optional<Turns>& turns);

/// Time to read so many bytes of operands: of few rows longer than to multiply them.
double reading_us(const Target& target, double bytes);

/// Of a turn in which blocks make parts of tiles: the time to leave their sums, to wait for the others', and to read
/// and add a share of them.
double adding_us(const Problem& problem, const Target& target, const Products& products, const Tiles& tiles);

/// The time in which so many blocks multiply all tiles, in turns: that of each turn's tiles, or of all products at the
/// rate that the chip's power sustains.
double turns_us(const FastLoop& loop, const Problem& problem, const Target& target, const Products& products,
                std::int64_t blocks, const Tiles& tiles);

/// At which finished tiles of sm_90a's main loop leave for other ranks, made in so much time each: what waits for a
/// link holds up the copies that bring operands, so a tile takes as long as links need for those of all blocks, if it
/// can be told of before the next one is there.
struct Pace {
  double links_ns;  ///< that those of all blocks take
  double ship_ns;   ///< that a tile takes at least
};
Pace pace_of(const Problem& problem, const Target& target, std::int64_t blocks, const Tiles& tiles, double tile_us);

/// The time of a product that takes so long by itself: whose operands arrive meanwhile, so that blocks which find no
/// tile of the rank's own wait for the first rows, and a tile is left to multiply after the last ones; or whose tiles
/// leave, the first of them when it is finished.
double with_links(const FastLoop& loop, const Problem& problem, const Target& target, const Products& products,
                  std::int64_t comm_blocks, std::int64_t blocks, const Tiles& tiles, double multiply_us);

}  // namespace irisgen
