#include "generator/language/scalar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "generator/language/unicode.hpp"

namespace irisgen {
namespace {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool one_of(std::string_view text, const auto& words) {
  return std::ranges::find(words, text) != words.end();
}

std::optional<bool> as_boolean(std::string_view text) {
  constexpr std::array<std::string_view, 3> yes = {"true", "True", "TRUE"};
  constexpr std::array<std::string_view, 3> no = {"false", "False", "FALSE"};
  if (one_of(text, yes)) return true;
  if (one_of(text, no)) return false;
  return std::nullopt;
}

std::string_view without_sign(std::string_view text) {
  const bool sign = text.starts_with('+') || text.starts_with('-');
  return sign ? text.substr(1) : text;
}

bool is_not_finite(std::string_view text) {
  constexpr std::array<std::string_view, 3> infinities = {".inf", ".Inf", ".INF"};
  constexpr std::array<std::string_view, 3> nans = {".nan", ".NaN", ".NAN"};
  return one_of(without_sign(text), infinities) || one_of(text, nans);
}

// The base of an integer of the core schema, or 0; `digits` becomes what stands after sign and prefix.
int integer_base(std::string_view text, std::string_view& digits) {
  digits = text.starts_with("0x") || text.starts_with("0o") ? text.substr(2) : without_sign(text);
  if (digits.empty()) return 0;
  const auto all = [&](auto is) { return std::ranges::all_of(digits, is); };
  const auto is_hex = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  if (text.starts_with("0x")) return all(is_hex) ? 16 : 0;
  if (text.starts_with("0o")) return all([](char c) { return c >= '0' && c <= '7'; }) ? 8 : 0;
  return all(is_digit) ? 10 : 0;
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_float(std::string_view text) {
  text = without_sign(text);
  const auto skip_digits = [&text] {
    const std::size_t count = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
    text.remove_prefix(count);
    return count;
  };
  std::size_t digits = skip_digits();
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    digits += skip_digits();
  }
  if (digits == 0) return false;
  if (!text.starts_with('e') && !text.starts_with('E')) return text.empty();
  text = without_sign(text.substr(1));
  return skip_digits() > 0 && text.empty();
}

Scalar integer(std::string_view text, int base, std::string_view digits) {
  if (base == 10 && digits.size() > 1 && digits.starts_with('0')) {
    const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size() - 1);
    return {Invalid{}, "the number " + printable(text, 60) + " starts with a zero, which some read as octal; write " +
                           printable(digits.substr(zeros), 60)};
  }
  // from_chars wants the minus sign but no plus.
  const std::string number = (text.starts_with('-') ? "-" : "") + std::string(digits);
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value, base);
  if (problem == std::errc()) return {value, ""};
  return {Invalid{}, "the number " + printable(text, 60) + " does not fit in 64 bits; write a smaller one"};
}

Scalar floating(std::string_view text) {
  const std::string_view number = text.starts_with('+') ? text.substr(1) : text;
  double value = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (problem == std::errc() && std::isfinite(value)) return {value, ""};
  return {Invalid{}, "the number " + printable(text, 60) + " does not fit in 64 bits; write one that does"};
}

}  // namespace

Scalar resolve_plain(std::string_view text) {
  constexpr std::array<std::string_view, 5> nulls = {"", "~", "null", "Null", "NULL"};
  if (one_of(text, nulls)) return {Null{}, ""};
  if (const auto boolean = as_boolean(text)) return {*boolean, ""};
  std::string_view digits;
  if (const int base = integer_base(text, digits)) return integer(text, base, digits);
  if (is_float(text)) return floating(text);
  if (is_not_finite(text)) return {Invalid{}, std::string(text) + " is not a number to work with; write a finite one"};
  return {std::string(text), ""};
}

}  // namespace irisgen
