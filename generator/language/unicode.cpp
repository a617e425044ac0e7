#include "generator/language/unicode.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace irisgen {
namespace {

struct Range {
  char32_t first, last;
  bool contains(char32_t value) const { return first <= value && value <= last; }
};

// East Asian wide and emoji blocks: two columns in a terminal. Coarse on purpose; an error costs a shifted caret.
constexpr std::array wide = {
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},   Range{0xAC00, 0xD7A3},
    Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD},
};

// Marks that are drawn onto the character before them.
constexpr std::array combining = {Range{0x0300, 0x036F}, Range{0x1AB0, 0x1AFF}, Range{0x20D0, 0x20FF},
                                  Range{0xFE00, 0xFE0F}};

// C1 controls, and format characters that reorder or hide the text around them.
constexpr std::array hidden = {Range{0x80, 0x9F},     Range{0xAD, 0xAD},     Range{0x61C, 0x61C},
                               Range{0x200B, 0x200F}, Range{0x2028, 0x202E}, Range{0x2060, 0x206F},
                               Range{0xFEFF, 0xFEFF}, Range{0xFFF9, 0xFFFB}, Range{0xE0000, 0xE0FFF}};

bool in(const auto& ranges, char32_t value) {
  return std::ranges::any_of(ranges, [&](const Range& range) { return range.contains(value); });
}

// Continuation bytes of a sequence and the smallest value that may be written with so many.
struct Form {
  std::size_t bytes;
  char32_t lead;
  char32_t smallest;
};

bool read_form(unsigned char first, Form& form) {
  if (first < 0xC0) return false;
  if (first < 0xE0) return form = {2, first & 0x1Fu, 0x80}, true;
  if (first < 0xF0) return form = {3, first & 0x0Fu, 0x800}, true;
  if (first < 0xF8) return form = {4, first & 0x07u, 0x10000}, true;
  return false;
}

}  // namespace

CodePoint decode(std::string_view text, std::size_t offset) {
  const auto first = static_cast<unsigned char>(text[offset]);
  if (first < 0x80) return {first, 1, true};
  const CodePoint broken = {first, 1, false};
  Form form = {};
  if (!read_form(first, form) || text.size() - offset < form.bytes) return broken;
  char32_t value = form.lead;
  for (std::size_t i = 1; i < form.bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[offset + i]);
    if ((next & 0xC0) != 0x80) return broken;
    value = (value << 6) | (next & 0x3Fu);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < form.smallest || value > 0x10FFFF || surrogate) return broken;
  return {value, form.bytes, true};
}

Glyph glyph_of(std::string_view text, std::size_t offset, const CodePoint& point) {
  if (!point.valid) return {"\uFFFD", 1};
  if (point.value < 0x20 || point.value == 0x7F) {
    // Unicode's pictures of the control characters, U+2400 on.
    const unsigned picture = point.value == 0x7F ? 0x21 : static_cast<unsigned>(point.value);
    return {std::string("\xE2\x90") + static_cast<char>(0x80 + picture), 1};
  }
  if (in(hidden, point.value)) {
    std::array<char, 16> name = {};
    const int columns = std::snprintf(name.data(), name.size(), "<U+%04X>", static_cast<unsigned>(point.value));
    return {name.data(), columns};
  }
  const int columns = in(combining, point.value) ? 0 : in(wide, point.value) ? 2 : 1;
  return {std::string(text.substr(offset, point.bytes)), columns};
}

std::string printable(std::string_view text, std::size_t max_points) {
  std::string result;
  std::size_t points = 0;
  for (std::size_t offset = 0; offset < text.size(); ++points) {
    if (points == max_points) return result + "…";
    const CodePoint point = decode(text, offset);
    result += glyph_of(text, offset, point).text;
    offset += point.bytes;
  }
  return result;
}

std::string in_quotes(std::string_view word) {
  return "'" + printable(word, 60) + "'";
}

std::string without_byte_order_mark(std::string text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (text.starts_with(mark)) text.erase(0, mark.size());
  return text;
}

}  // namespace irisgen
