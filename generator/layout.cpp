#include "generator/layout.hpp"

#include <algorithm>

namespace irisgen {

std::string lay_out_signature(std::string_view head, std::string_view parameters, std::string_view tail) {
  const std::size_t indent = std::min(head.find_first_not_of(' '), head.size());
  const std::size_t comma = parameters.find(", ");
  const std::size_t first = comma == std::string_view::npos ? parameters.size() + tail.size() : comma + 1;
  const bool breaks_after_head = head.size() + first > max_line;
  const std::size_t column = breaks_after_head ? indent + 4 : head.size();

  std::string text(head);
  if (breaks_after_head) text += "\n" + std::string(column, ' ');
  std::size_t at = column;
  while (!parameters.empty()) {
    const std::size_t end = parameters.find(", ");
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

}  // namespace irisgen
