#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/plan/fast_loops.hpp"

/// What sm_90a's main loop of matrix units holds in shared memory, and what the host prepares for its copies.
namespace irisgen {

inline constexpr std::int64_t wgmma_depth = 64;       ///< of a stage, of operands of 16 bits: 128 bytes
inline constexpr std::int64_t wgmma_row_bytes = 128;  ///< of a stage's row
inline constexpr std::int64_t wgmma_rows = 64;        ///< that a warpgroup multiplies

/// Rows of A in a stage: those of a tile, fewer where a launch has no more than `most_rows`.
std::int64_t wgmma_stage_rows(std::int64_t tile_m, std::optional<std::int64_t> most_rows);
/// Warpgroups that take the stages of a tile in turn: 2 where there are rows for one alone. Of wider tiles, of parts
/// along k, and of few stages, their sums take longer to be added up than is saved: measured on an H200.
std::int64_t wgmma_stage_groups(const Problem& problem, const Products& products, std::int64_t stage_rows,
                                std::int64_t tile_n);
/// Rows of A in one copy.
std::int64_t wgmma_box_rows(const Products& products, std::int64_t stage_rows);
/// Stages of so many rows that shared memory holds beside a finished tile, or what the second of two `groups` hands
/// over, and, where the block sends operands beside its products, two copies' worth of these.
std::int64_t wgmma_stages(const Request& request, const Products& products, const Tiles& tiles, std::int64_t stage_rows,
                          std::int64_t groups);
/// What its tensor copies read.
std::vector<iris::MatrixMap> wgmma_maps(const Request& request, const Products& products, const Tiles& tiles,
                                        std::int64_t box_rows);

}  // namespace irisgen
