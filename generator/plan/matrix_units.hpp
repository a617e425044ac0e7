#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/plan/matmul_planning.hpp"

/// The main loops of matrix units, in one table: which tiles they take, what stands in the way, and how long they need.
namespace irisgen {

/// Blocks of a GPU's grid that do not multiply, where nothing else says how many.
inline constexpr int gpu_comm_blocks = 16;

struct Tiles {
  std::int64_t m, n, k, threads, band;
};

/// Of all products together; nothing if an extent is dynamic.
std::optional<std::int64_t> tiles_of(const Problem& problem, const Products& products, std::int64_t tile_m,
                                     std::int64_t tile_n);

/// That are left to copies for which the products wait, since AMD's runtime may make kernels of them.
std::int64_t compute_units_of_copies(const Target& target, const Products& products);

struct MatrixUnits {
  Platform platform;
  MainLoop loop;
  std::span<const Dtype> alone_for;              ///< another loop has all other types; empty: this one
  std::span<const Tiles> tiles;                  ///< to choose from, of operands of 16 bits
  std::size_t of_any_size;                       ///< which of them, where sizes are known only at launch
  int comm_blocks;                               ///< where nothing else says how many
  std::span<const std::int64_t> sending_blocks;  ///< to choose from, where those blocks send operands
  std::string (*obstacle)(const Request&, const Products&);
  double (*tile_us)(const Target&, const Products&, const Tiles&, double k);
  std::string_view reason;
  std::string_view threads_reason;
  std::string_view depth_reason;
};

/// Those for operands of that type, or whose obstacle says why there are none. nullptr where the target has none.
const MatrixUnits* matrix_units_of(const Target& target, Dtype dtype);

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

/// Why they are taken, and what makes them slow, for `explain`.
std::string units_reason(const MatrixUnits& units, const Request& request, const Products& products);
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

/// Elements from a row of a finished tile to the next, as device/main_loop/wgmma_finished.hpp holds it.
std::int64_t wgmma_stride(std::int64_t tile_n);
/// Rows of A in a stage: those of a tile, fewer where there are fewer.
std::int64_t wgmma_stage_rows(const Request& request, const Products& products, std::int64_t tile_m);
/// Rows of A in one copy.
std::int64_t wgmma_box_rows(const Products& products, std::int64_t stage_rows);
/// Stages that shared memory holds beside a finished tile of so many columns and, where the block sends operands beside
/// its products, two copies' worth of these.
std::int64_t wgmma_stages(const Request& request, const Products& products, std::int64_t stage_rows,
                          std::int64_t tile_n);
/// What its tensor copies read.
std::vector<iris::MatrixMap> wgmma_maps(const Request& request, const Products& products, const Tiles& tiles,
                                        std::int64_t box_rows);

}  // namespace irisgen
