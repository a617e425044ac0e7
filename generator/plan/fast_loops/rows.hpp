#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>

#include "generator/plan/fast_loops.hpp"

/// The rows of the table of fast loops, and what they have in common. Each says why it cannot be taken (nothing if it
/// can), which tiles a block has room for, and how long it takes for one, k deep.
namespace irisgen {

extern const FastLoop fma_staged_loop;
extern const FastLoop mfma_loop;
extern const FastLoop mma_loop;
extern const FastLoop mma_packed_loop;
extern const FastLoop wgmma_loop;

/// Why a loop takes no such elements, or no such sums; empty if it does.
std::string obstacle_of_types(const Request& request);
/// Why rows of A or B may not be read 16 bytes at a time; empty if they are.
std::string obstacle_of_rows(const Problem& problem, const Products& products);

/// Whether the user has set `key` to none of these.
bool differs(const Request& request, const char* key, std::initializer_list<std::int64_t> values);

/// Why loops in which warps multiply take no such blocks or tiles; empty if they do.
std::string obstacle_of_warps(const Request& request);

/// Whether a launch makes one product of matrices in memory, and no more.
bool is_alone(const Products& products);

/// "A, B or C" of what `text_of` says of those tiles that a block has room for.
std::string alternatives(const Problem& problem, const Products& products, std::span<const Tiles> tiles,
                         bool (*holds)(const Problem&, const Products&, const Tiles&),
                         std::string (*text_of)(const Tiles&));

/// Of a compute unit that multiplies at such a share of its full rate.
double tile_us(const Target& target, const Tiles& tiles, double k, double share_of_rate, double between_us);

/// Of loops in which warps multiply: 128 bytes of 16-bit elements deep.
inline constexpr std::int64_t warp_depth = 64;
constexpr Tiles warp_tile(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, warp_depth, 256, 16};
}

/// What has been measured of a tile in loops in which warps multiply: the share of the full rate, and what passes
/// between one tile and the next.
struct WarpTileMeasured {
  Tiles tiles;
  double share;
  double between_us;
};

/// The tiles of a table of what has been measured of each.
template <typename Measured, std::size_t count>
constexpr std::array<Tiles, count> tiles_in(const std::array<Measured, count>& table) {
  std::array<Tiles, count> tiles{};
  std::ranges::transform(table, tiles.begin(), &Measured::tiles);
  return tiles;
}

/// The row of one of its tiles. Throws std::logic_error if it has none.
template <typename Measured, std::size_t count>
const Measured& row_of(const std::array<Measured, count>& table, const Tiles& tiles) {
  const auto row = std::ranges::find_if(
      table, [&](const Measured& each) { return each.tiles.m == tiles.m && each.tiles.n == tiles.n; });
  if (row == table.end()) throw std::logic_error("no such tile has been measured");
  return *row;
}

}  // namespace irisgen
