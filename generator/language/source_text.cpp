#include "generator/language/source_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "generator/language/unicode.hpp"

namespace irisgen {
namespace {

constexpr std::size_t block = 256;
constexpr std::size_t escape_bytes = 6;               // \uD83D
constexpr std::size_t pair_bytes = 2 * escape_bytes;  // \uD83D\uDE00
constexpr std::size_t joined_bytes = 10;              // \U0001F600

bool starts_point(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

// What is wrong with the code point, or nothing.
std::string wrong_character(std::string_view text, std::size_t offset, const CodePoint& point) {
  std::array<char, 32> name = {};
  if (!point.valid) {
    std::snprintf(name.data(), name.size(), "0x%02x", static_cast<unsigned>(point.value));
    return "byte " + std::string(name.data()) + " is not UTF-8; save the file as UTF-8 text";
  }
  if (point.value == '\r') {
    const bool ends_line = offset + 1 < text.size() && text[offset + 1] == '\n';
    return ends_line ? "" : "a carriage return that ends no line; end lines with a line feed";
  }
  const bool control = (point.value < 0x20 && point.value != '\n' && point.value != '\t') || point.value == 0x7F;
  if (!control) return "";
  std::snprintf(name.data(), name.size(), "U+%04X", static_cast<unsigned>(point.value));
  return "control character " + std::string(name.data()) + "; a specification is text: remove it";
}

std::optional<unsigned> escaped_unit(std::string_view text, std::size_t offset) {
  if (text.size() - offset < escape_bytes || text[offset] != '\\' || text[offset + 1] != 'u') return std::nullopt;
  unsigned value = 0;
  for (std::size_t i = 2; i < escape_bytes; ++i) {
    const char c = text[offset + i];
    const std::size_t digit = std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return value;
}

std::optional<unsigned> escaped_pair(std::string_view text, std::size_t offset) {
  const auto high = escaped_unit(text, offset);
  if (!high || *high < 0xD800 || *high > 0xDBFF) return std::nullopt;
  const auto low = escaped_unit(text, offset + escape_bytes);
  if (!low || *low < 0xDC00 || *low > 0xDFFF) return std::nullopt;
  return 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00);
}

}  // namespace

Places::Places(std::string_view text) : text_(text), lines_{0} {
  points_.reserve(text.size() / block + 1);
  std::uint32_t points = 0;
  for (std::size_t offset = 0; offset < text.size(); ++offset) {
    if (offset % block == 0) points_.push_back(points);
    if (starts_point(text[offset])) ++points;
    if (text[offset] == '\n') lines_.push_back(offset + 1);
  }
  points_.push_back(points);
}

std::size_t Places::points_before(std::size_t offset) const {
  const std::size_t start = offset - offset % block;
  const auto rest = text_.substr(start, offset - start);
  return points_[start / block] + static_cast<std::size_t>(std::ranges::count_if(rest, starts_point));
}

Position Places::at(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto line = std::ranges::upper_bound(lines_, offset);
  const std::size_t column = points_before(offset) - points_before(*(line - 1)) + 1;
  return {static_cast<int>(line - lines_.begin()), static_cast<int>(column)};
}

bool check_text(std::string_view text, const Places& places, Report& report) {
  if (text.size() > max_text_bytes) {
    report.error({}, "the text has " + std::to_string(text.size()) + " bytes, more than the " +
                         std::to_string(max_text_bytes) + " that a specification may have; split it");
    return false;
  }
  const auto marks = std::ranges::count_if(text, [](char c) { return c == ',' || c == '[' || c == '{'; });
  if (marks > max_flow_marks) {
    report.error({}, "the text has " + std::to_string(marks) + " commas and opening brackets, more than the " +
                         std::to_string(max_flow_marks) + " that a specification may have; split it");
    return false;
  }
  for (std::size_t offset = 0; offset < text.size();) {
    const CodePoint point = decode(text, offset);
    const bool plain = point.valid && point.value >= 0x20 && point.value != 0x7F;
    const std::string wrong = plain ? "" : wrong_character(text, offset, point);
    if (!wrong.empty()) {
      report.error(places.at(offset), wrong);
      return false;
    }
    offset += point.bytes;
  }
  return true;
}

PairsJoined::PairsJoined(std::string_view text) {
  text_.reserve(text.size());
  for (std::size_t offset = 0; offset < text.size();) {
    if (const auto point = escaped_pair(text, offset)) {
      std::array<char, joined_bytes + 1> escape = {};
      std::snprintf(escape.data(), escape.size(), "\\U%08X", *point);
      text_ += escape.data();
      joined_.push_back(text_.size());
      offset += pair_bytes;
      continue;
    }
    // A backslash takes the next character with it, so that \\u is no escape.
    const std::size_t bytes = text[offset] == '\\' ? 2 : 1;
    text_ += text.substr(offset, bytes);
    offset += bytes;
  }
}

std::size_t PairsJoined::original(std::size_t offset) const {
  const auto before = std::ranges::upper_bound(joined_, offset) - joined_.begin();
  return offset + static_cast<std::size_t>(before) * (pair_bytes - joined_bytes);
}

}  // namespace irisgen
