#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "iris/problem.hpp"

namespace irisgen {

/// A dimension as a description writes it: whole numbers and names with + - * / and parentheses, at most one of the
/// names an extent, and that no more than once: `(m + 2) / 2 * world`. `number_of` gives the names that are numbers.
/// Throws std::invalid_argument with a sentence, without the place.
iris::Dimension parse_dimension(std::string_view text, const iris::Problem& problem,
                                const std::function<std::optional<std::int64_t>(std::string_view name)>& number_of);

}  // namespace irisgen
