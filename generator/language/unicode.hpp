#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace irisgen {

/// One code point of a UTF-8 text. Where the bytes are no UTF-8, one byte that counts as one code point.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

/// The code point that starts at `offset`, which must be inside the text. Refuses overlong forms, surrogates and
/// values above U+10FFFF.
CodePoint decode(std::string_view text, std::size_t offset);

/// How a terminal may show a code point: never a control character, and how many columns that takes.
struct Glyph {
  std::string text;
  int columns = 1;
};
Glyph glyph_of(std::string_view text, std::size_t offset, const CodePoint& point);

/// The text with every control character made visible, cut with an ellipsis after `max_points` code points.
std::string printable(std::string_view text, std::size_t max_points);

/// A user's word as messages show it: 'word', printable, at most 60 code points.
std::string in_quotes(std::string_view word);

/// The text as it is without U+FEFF at its start, which some editors write.
std::string without_byte_order_mark(std::string text);

}  // namespace irisgen
