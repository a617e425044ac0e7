#include "generator/emit/math_names.hpp"

#include <array>
#include <cctype>

namespace irisgen {
namespace {

constexpr std::array<std::string_view, 18> names = {"abs",   "ceil",  "copysign", "erf",   "exp",   "exp2",
                                                    "expm1", "floor", "fma",      "log",   "log1p", "log2",
                                                    "max",   "min",   "rint",     "rsqrt", "sqrt",  "tanh"};

bool is_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_identifier(text[at - 1])) && (end == text.size() || !is_identifier(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::string math_declarations(std::string_view includes, std::string_view text) {
  const auto has = [includes](std::string_view header) { return includes.find(header) != std::string_view::npos; };
  // The others include the first.
  if (!has("<iris/device/math.hpp>") && !has("<iris/device/random.hpp>") && !has("<iris/device/approximate.hpp>"))
    return {};
  std::string lines;
  for (const std::string_view name : names) {
    if (has_word(text, name)) lines.append("using iris::device::").append(name).append(";\n");
  }
  return lines;
}

}  // namespace irisgen
