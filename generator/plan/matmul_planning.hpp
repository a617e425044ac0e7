#pragma once

#include <array>

#include "generator/plan/compose.hpp"

/// Choices that the matmuls share, plain and fused.
namespace irisgen {

/// The keys of `config:` that shape a tile's kernel.
inline constexpr std::array<std::string_view, 6> tile_keys = {"blocks", "threads", "vector",
                                                              "tile_m", "tile_n",  "tile_k"};
/// Those of a kernel in which some blocks move data while the others multiply.
inline constexpr std::array<std::string_view, 7> role_keys = {"blocks", "comm_blocks", "threads", "vector",
                                                              "tile_m", "tile_n",      "tile_k"};

/// The extent divides among the ranks: `m` or `n`.
void check_divides(const KernelSpec& spec, const Problem& problem, const std::string& extent, Report& report);
/// m does.
void check_rows(const KernelSpec& spec, const Problem& problem, Report& report);

/// Decides `threads`, `tile_m`, `tile_n`, `tile_k` and `vector`, and checks that they fit each other and the target.
/// Returns the vector.
int choose_tiles(const Request& request, KernelPlan& kernel);

/// The tiles of a product of that many rows and columns; nothing if an extent is dynamic.
std::optional<std::int64_t> tiles_of(const Request& request, const KernelPlan& kernel, const Dimension& rows,
                                     const Dimension& columns);

/// Decides `blocks` for a kernel that only multiplies, of so many tiles.
void choose_matmul_grid(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> tiles);

/// Decides `comm_blocks` and `blocks` for a kernel of so many tiles on each rank. `role` completes "blocks that …".
void choose_roles(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> tiles,
                  const std::string& role);

/// Of a static problem, on each rank: 2·m·n·k, over the ranks that share the work.
double matmul_flops(const Problem& problem);
/// The same, in operations as fast as f32's.
double weighted_flops(const Problem& problem);

/// The whole's product of `a` (its buffer of m rows) and b, as a part.
PartRequest matmul_part(const Problem& whole, const std::string& a, const std::string& output, Dtype result);

/// Bytes of a matrix of a static problem.
double matrix_bytes(const Problem& problem, const std::vector<Dimension>& shape, Dtype dtype);

}  // namespace irisgen
