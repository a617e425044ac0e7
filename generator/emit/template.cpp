#include <algorithm>
#include <set>
#include <stdexcept>

#include "irisgen/source.hpp"

namespace irisgen {
namespace {

constexpr std::string_view marker_start = "/*${";
constexpr std::string_view marker_end = "}*/";

bool is_key(std::string_view text) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && std::ranges::all_of(text, allowed);
}

std::string place(std::string_view text, std::size_t at) {
  return "line " + std::to_string(1 + std::ranges::count(text.substr(0, at), '\n'));
}

/// A `${` that is not written as a marker is a slip of the pen that would reach the emitted source.
void refuse_stray(std::string_view text, std::size_t from, std::size_t to) {
  const std::size_t stray = text.substr(0, to).find("${", from);
  if (stray == std::string_view::npos) return;
  throw std::logic_error("template, " + place(text, stray) + ": '${' outside of a marker /*${key}*/");
}

}  // namespace

std::string substitute(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string result;
  std::set<std::string_view> used;
  std::size_t at = 0;
  while (true) {
    const std::size_t start = text.find(marker_start, at);
    refuse_stray(text, at, start);
    result += text.substr(at, start - at);
    if (start == std::string_view::npos) break;

    const std::size_t key_at = start + marker_start.size();
    const std::size_t end = text.find(marker_end, key_at);
    const std::string_view key = text.substr(key_at, end == std::string_view::npos ? 0 : end - key_at);
    if (!is_key(key)) throw std::logic_error("template, " + place(text, start) + ": malformed marker");
    const auto value = values.find(std::string(key));
    if (value == values.end()) {
      throw std::logic_error("template, " + place(text, start) + ": unknown key '" + std::string(key) + "'");
    }
    used.insert(value->first);
    const std::size_t sample = end + marker_end.size();
    at = std::min(text.find_first_of(" \t\n;,()", sample), text.size());
    if (at == sample) result.erase(result.find_last_not_of(' ') + 1);
    result += value->second;
  }
  for (const auto& [key, value] : values) {
    if (!used.contains(key)) throw std::logic_error("template: unused key '" + key + "'");
  }
  return result;
}

}  // namespace irisgen
