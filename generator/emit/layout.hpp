#pragma once

#include <string>
#include <string_view>

namespace irisgen {

/// Columns of an emitted line.
inline constexpr std::size_t max_line = 120;

/// `head` + `parameters` + `tail` over as many lines as they need, as clang-format (Google style) breaks a signature:
/// lines after the first start below the first parameter, or four further in than `head` if that does not fit either.
/// `parameters` are separated by ", ", but for what stands in braces; `head` is one line that ends in '(' or '{'.
std::string lay_out_signature(std::string_view head, std::string_view parameters, std::string_view tail);

/// Trailing `//` comments of consecutive lines in one column, two blanks after the longest of their lines: values that
/// are longer or shorter than a template's samples move them.
std::string align_trailing_comments(std::string_view text);

/// `text` as lines of comments, broken at blanks; the last one ends in a newline.
std::string wrap_comment(std::string_view text, std::string_view prefix = "// ");

}  // namespace irisgen
