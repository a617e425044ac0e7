#pragma once

#include <string>
#include <string_view>

namespace irisgen {

/// Columns of an emitted line.
inline constexpr std::size_t max_line = 120;

/// `head` + `parameters` + `tail` over as many lines as they need, as clang-format (Google style) breaks a signature:
/// lines after the first start below the first parameter, or four further in than `head` if that does not fit either.
/// `parameters` are separated by ", "; `head` is one line that ends in '('.
std::string lay_out_signature(std::string_view head, std::string_view parameters, std::string_view tail);

}  // namespace irisgen
