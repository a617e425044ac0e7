#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "generator/plan/matrix_units.hpp"

/// How long products take that are made by matrix units, and the tiles with which they take least.
namespace irisgen {

/// Of all products together; nothing if an extent is dynamic.
std::optional<std::int64_t> tiles_of(const Problem& problem, const Products& products, std::int64_t tile_m,
                                     std::int64_t tile_n);

/// That are left to copies for which the products wait, since AMD's runtime may make kernels of them.
std::int64_t compute_units_of_copies(const Target& target, const Products& products);

struct UnitsChoice {
  Tiles tiles;
  std::int64_t comm_blocks;
  std::int64_t turns;  ///< of the compute units
  double us;           ///< that all of them take
};
/// An extent is dynamic.
inline constexpr std::int64_t unknown_turns = -1;

/// The tile, and the number of blocks that do not multiply, with which a launch takes least time; what `config:` has
/// settled stays.
UnitsChoice choose_for(const MatrixUnits& units, const Request& request, const Products& products);
std::string turns_text(std::int64_t turns);

/// Of a turn in which blocks make parts of tiles: the time to leave their sums, to wait for the others', and to read
/// and add a share of them.
double adding_us(const Problem& problem, const Products& products, const Tiles& tiles);

/// The time of so many turns of the compute units: that of their tiles, or that of all products at the rate that the
/// chip's power sustains.
double turns_us(const Problem& problem, const Target& target, const Products& products, std::int64_t turns,
                const Tiles& tiles);

/// The time of a product that takes so long by itself: whose operands arrive meanwhile, so that blocks which find no
/// tile of the rank's own wait for the first rows, and a tile is left to multiply after the last ones; or whose tiles
/// leave, the first of them when it is finished.
double with_links(const Problem& problem, const Target& target, const Products& products, std::int64_t comm_blocks,
                  std::int64_t blocks, const Tiles& tiles, double multiply_us);

}  // namespace irisgen
