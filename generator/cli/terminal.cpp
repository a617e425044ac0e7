#include "generator/cli/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace irisgen::cli {

bool color_wanted(int descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return !(no_color && *no_color) && terminal && std::string_view(terminal) != "dumb" && isatty(descriptor) == 1;
}

std::string heading(std::string_view text) {
  if (!color_wanted(STDOUT_FILENO)) return std::string(text);
  return "\033[1m" + std::string(text) + "\033[0m";
}

Table::Table(std::vector<std::string> header) : has_header_(!header.empty()) {
  if (has_header_) rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) {
  rows_.push_back(std::move(row));
}

void Table::print(std::ostream& out, std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  for (std::size_t index = 0; index < rows_.size(); ++index) {
    const auto& row = rows_[index];
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      line += row[column];
      if (column + 1 < row.size()) line.append(widths[column] - row[column].size() + 2, ' ');
    }
    out << indent << (index == 0 && has_header_ ? heading(line) : line) << '\n';
  }
}

std::string human_bytes(double bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.4g %s", bytes, units[unit]);
  return text.data();
}

Progress::Progress() : visible_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  clear();
}

void Progress::clear() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;
  shown_ = false;
}

void Progress::show(std::string_view text) {
  if (!visible_) return;
  shown_ = true;
  std::cerr << "\r\033[K" << text << std::flush;
}

}  // namespace irisgen::cli
