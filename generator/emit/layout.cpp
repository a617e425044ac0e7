#include "generator/emit/layout.hpp"

#include <algorithm>
#include <vector>

namespace irisgen {
namespace {

/// A line, split where its trailing comment starts; `comment` is empty if there is none.
struct Line {
  std::string_view code;
  std::string_view comment;
};

Line split(std::string_view line) {
  const std::size_t comment = line.find("  // ");
  const std::size_t code = line.find_first_not_of(' ');
  if (comment == std::string_view::npos || code >= comment) return {line, {}};
  const std::string_view before = line.substr(0, comment);
  return {before.substr(0, before.find_last_not_of(' ') + 1), line.substr(comment + 2)};
}

/// Where the first parameter ends that a comma follows; one in braces is a whole.
std::size_t end_of_first(std::string_view parameters) {
  int depth = 0;
  for (std::size_t at = 0; at + 1 < parameters.size(); ++at) {
    if (parameters[at] == '{') ++depth;
    if (parameters[at] == '}') --depth;
    if (depth <= 0 && parameters.substr(at, 2) == ", ") return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::string lay_out_signature(std::string_view head, std::string_view parameters, std::string_view tail) {
  const std::size_t indent = std::min(head.find_first_not_of(' '), head.size());
  const std::size_t comma = end_of_first(parameters);
  const std::size_t first = comma == std::string_view::npos ? parameters.size() + tail.size() : comma + 1;
  const bool breaks_after_head = head.size() + first > max_line;
  const std::size_t column = breaks_after_head ? indent + 4 : head.size();

  std::string text(head);
  if (breaks_after_head) text += "\n" + std::string(column, ' ');
  std::size_t at = column;
  while (!parameters.empty()) {
    const std::size_t end = end_of_first(parameters);
    const std::string_view parameter = parameters.substr(0, end == std::string_view::npos ? end : end + 1);
    parameters.remove_prefix(std::min(parameters.size(), parameter.size() + 1));
    const std::size_t needed = parameter.size() + (parameters.empty() ? tail.size() : 0);
    if (at > column && at + 1 + needed > max_line) {
      text += "\n" + std::string(column, ' ');
      at = column;
    } else if (at > column) {
      text += ' ';
      ++at;
    }
    text += parameter;
    at += parameter.size();
  }
  return text.append(tail);
}

std::string wrap_comment(std::string_view text, std::string_view prefix) {
  const std::size_t room = max_line - prefix.size();
  std::string result;
  while (text.size() > room) {
    std::size_t end = text.rfind(' ', room);
    if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    result.append(prefix).append(text.substr(0, end)).append("\n");
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  if (!text.empty()) result.append(prefix).append(text).append("\n");
  return result;
}

std::string align_trailing_comments(std::string_view text) {
  std::string result;
  std::vector<Line> group;
  const auto flush = [&] {
    std::size_t column = 0;
    for (const Line& line : group) column = std::max(column, line.code.size() + 2);
    for (const Line& line : group) {
      result.append(line.code).append(column - line.code.size(), ' ').append(line.comment).append("\n");
    }
    group.clear();
  };
  while (!text.empty()) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    const Line line = split(whole);
    if (!line.comment.empty()) {
      group.push_back(line);
    } else {
      flush();
      result.append(whole).append("\n");
    }
  }
  flush();
  return result;
}

}  // namespace irisgen
