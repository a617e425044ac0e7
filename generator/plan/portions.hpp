#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "generator/plan/matmul_planning.hpp"

/// Products in portions of rows: each is a launch of its own, behind which copy engines carry it to other ranks while
/// the next one multiplies.
namespace irisgen {

/// The keys of `config:` that shape such a product, and those with a kernel that sums what has come.
inline constexpr std::array<std::string_view, 7> portion_keys = {"blocks", "portions", "threads", "vector",
                                                                 "tile_m", "tile_n",   "tile_k"};
inline constexpr std::array<std::string_view, 8> summed_portion_keys = {"blocks", "comm_blocks", "portions", "threads",
                                                                        "vector", "tile_m",      "tile_n",   "tile_k"};

/// The templates of such operations: of those that sum nothing, that sum for one rank, and for all.
inline constexpr std::array<std::string_view, 2> portion_templates = {"barrier/same_block.hip", "matmul/portion.hip"};
inline constexpr std::array<std::string_view, 3> summed_portion_templates = {portion_templates[0], portion_templates[1],
                                                                             "copies/sum.hip"};
inline constexpr std::array<std::string_view, 3> summed_for_all_templates = {portion_templates[0], portion_templates[1],
                                                                             "copies/sum_for_all.hip"};

/// Each rank multiplies its m / world rows; a portion goes to the same rows of all outputs.
Draft plan_portions_for_all(const Request& request);
std::vector<Work> cost_of_portions_for_all(const Problem& problem, const Target& target, const Draft& draft);

/// Each rank multiplies all m rows, those of one rank after another, its own last; a portion goes to its rank. Another
/// kernel sums what has come from all, for this rank or, where the pattern replicates results, for all.
Draft plan_summed_portions(const Request& request);
/// `sums`: what that kernel does.
std::vector<Work> cost_of_summed_portions(const Problem& problem, const Target& target, const Draft& draft, Work sums);

}  // namespace irisgen
