#pragma once

#include <span>
#include <string>

#include "irisgen/plan.hpp"

namespace irisgen {

/// The Plan for people: each choice with its reason, the variants beside the one chosen, the buffers, the kernels and
/// steps, the memory it takes on every rank, what goes over the links and how long that is expected to take. Lines end
/// in '\n'; no colours.
std::string explain(const Plan& plan);

/// Plans of one kernel and world for several targets, side by side: a column each, without reasons.
std::string explain_side_by_side(std::span<const Plan> plans);

/// A Plan as JSON, pretty-printed with a final newline. Bytes and microseconds; the times are 0 where no prediction is
/// made (host).
std::string explain_json(const Plan& plan);

}  // namespace irisgen
