#pragma once

#include <string_view>
#include <vector>

#include "generator/plan/matmul_planning.hpp"

/// The low_latency variants of products that are summed: finished tiles travel in lines that carry their own flags, to
/// be summed where they are wanted (device/lines.hpp).
namespace irisgen {

/// What their kernels differ in, beside their template.
struct SumsInLines {
  std::vector<Argument> arguments;
  double sent;            ///< bytes over the links, of one of a rank's whole product
  int ways = 1;           ///< over them, one after another, each into mailboxes of its own
  int ranks = 1;          ///< that share the rows to be summed:
  bool of_tiles = false;  ///< those of each tile, rather than of the whole matrix
};

/// The variant whose template that is.
Draft plan_sums_in_lines(const Request& request, std::string_view template_path, SumsInLines lines);

std::vector<Work> cost_of_sums_in_lines(const Problem& problem, const Target& target, const Draft& draft,
                                        const SumsInLines& lines);

}  // namespace irisgen
