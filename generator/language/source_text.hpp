#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "irisgen/diagnostic.hpp"

namespace irisgen {

/// Offsets (bytes) of a UTF-8 text to lines and columns (code points), in logarithmic time however long a line is.
class Places {
 public:
  explicit Places(std::string_view text);
  Position at(std::size_t offset) const;

 private:
  std::size_t points_before(std::size_t offset) const;

  std::string_view text_;
  std::vector<std::size_t> lines_;     // offset of each line's first byte
  std::vector<std::uint32_t> points_;  // code points before each block of `block` bytes
};

/// Refuses what is no text: too large, not UTF-8, control characters, carriage returns that end no line. Reports the
/// first such place only, since junk has thousands. False if it reported.
bool check_text(std::string_view text, const Places& places, Report& report);

/// Bytes that a specification may have.
inline constexpr std::size_t max_text_bytes = std::size_t{16} << 20;
/// Commas and opening brackets that it may have. yaml-cpp keeps every token of a line in memory, some 200 bytes each,
/// while a bracket is open: ten million brackets would take gigabytes.
inline constexpr std::ptrdiff_t max_flow_marks = std::ptrdiff_t{1} << 20;

/// A text in which JSON's surrogate pairs (\uD83D\uDE00) are written as YAML writes them (\U0001F600), which yaml-cpp
/// understands, and the way back to the offsets of the original. Knows escapes but not quotes: outside double quotes,
/// where a backslash is a backslash, a pair changes its spelling too. No valid value of the language has a backslash.
class PairsJoined {
 public:
  explicit PairsJoined(std::string_view text);
  const std::string& text() const { return text_; }
  std::size_t original(std::size_t offset) const;

 private:
  std::string text_;
  std::vector<std::size_t> joined_;  // offset in text_ of the end of each joined pair
};

}  // namespace irisgen
