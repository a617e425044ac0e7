#pragma once

#include <string_view>
#include <vector>

#include "generator/plan/matmul_planning.hpp"

/// The low_latency variants of products that are summed: finished tiles travel in lines that carry their own flags, to
/// be summed where they are wanted (device/lines.hpp).
namespace irisgen {

/// The variant whose template that is, for sums of which each rank gets so many rows.
Draft plan_sums_in_lines(const Request& request, std::string_view template_path, const Dimension& result_rows,
                         std::vector<Argument> arguments);

/// Of a rank that sends its whole product `peers` times.
std::vector<Work> cost_of_sums_in_lines(const Problem& problem, const Target& target, const Draft& draft, double peers);

}  // namespace irisgen
