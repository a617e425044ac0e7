#include "runtime/jit/compilers/nvrtc_log.hpp"

#include <charconv>
#include <optional>
#include <vector>

namespace iris {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// The number that ends where `unit` begins: 400 in `ptxas . 400 bytes stack frame`.
std::optional<int> number_before(std::string_view line, std::string_view unit) {
  const auto end = line.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  auto begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  if (std::from_chars(line.data() + begin, line.data() + end, value).ec != std::errc()) return std::nullopt;
  return value;
}

/// `name(3): rest` taken apart; the name may itself have parentheses.
struct Message {
  std::string_view line_number;
  std::string_view rest;
};
std::optional<Message> parse_message(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || line.substr(name.size(), 1) != "(") return std::nullopt;
  line.remove_prefix(name.size() + 1);
  const auto close = line.find("): ");
  if (close == std::string_view::npos || line.find_first_not_of("0123456789") != close) return std::nullopt;
  return Message{line.substr(0, close), line.substr(close + 3)};
}

/// Column of the caret two lines below a message, 1-based; 1 where there is no caret.
std::size_t column_below(const std::vector<std::string_view>& lines, std::size_t message) {
  constexpr std::size_t indent = 2;  // NVRTC's own, before the source line
  for (std::size_t i = message + 1; i < lines.size() && lines[i].starts_with(' '); ++i) {
    const auto caret = lines[i].find_first_not_of(' ');
    if (caret != std::string_view::npos && caret >= indent && lines[i].substr(caret) == "^") return caret - indent + 1;
  }
  return 1;
}

}  // namespace

std::string with_places(std::string_view log, std::string_view name) {
  const auto lines = lines_of(log);
  std::string result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto message = parse_message(lines[i], name)) {
      result.append(name).append(":").append(message->line_number).append(":");
      result.append(std::to_string(column_below(lines, i))).append(": ").append(message->rest);
    } else {
      result += lines[i];
    }
    result += '\n';
  }
  return result;
}

Resources resources_of(std::string_view log, std::string_view symbol) {
  Resources resources;
  const std::string start = "Compiling entry function '" + std::string(symbol) + "'";
  bool inside = false;
  for (const std::string_view line : lines_of(log)) {
    if (line.find("Compiling entry function") != std::string_view::npos) {
      inside = line.find(start) != std::string_view::npos;
    }
    if (!inside) continue;
    if (const auto frame = number_before(line, " bytes stack frame")) resources.spill_bytes = frame;
    if (const auto registers = number_before(line, " registers")) {
      resources.registers = registers;
      resources.shared_bytes = number_before(line, " bytes smem").value_or(0);
    }
  }
  return resources;
}

}  // namespace iris
