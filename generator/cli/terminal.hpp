#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace irisgen::cli {

/// Whether ANSI colours belong on this file descriptor: a terminal, not a dumb one, and NO_COLOR unset.
bool color_wanted(int descriptor);

/// Text in bold on a terminal's standard output, as it is elsewhere.
std::string heading(std::string_view text);

/// Lines of cells, padded so that columns align; two spaces between them. The last column is not padded.
class Table {
 public:
  explicit Table(std::vector<std::string> header = {});
  void add(std::vector<std::string> row);
  void print(std::ostream& out, std::string_view indent = "  ") const;

 private:
  bool has_header_;
  std::vector<std::vector<std::string>> rows_;
};

/// 1536 -> "1.5 KiB".
std::string human_bytes(double bytes);

/// A line of progress on standard error that overwrites itself. Silent unless standard error is a terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(std::string_view text);
  void clear();

 private:
  bool visible_;
  bool shown_ = false;
};

}  // namespace irisgen::cli
