#pragma once

#include <string_view>

namespace irisgen {

/// ANSI escapes around the parts of a message; empty where it goes elsewhere than to a terminal.
struct TextStyle {
  std::string_view bold, error, warning, mark, plain;
};
inline constexpr TextStyle no_style = {"", "", "", "", ""};
inline constexpr TextStyle ansi_style = {"\033[1m", "\033[1;31m", "\033[1;35m", "\033[1;32m", "\033[0m"};

}  // namespace irisgen
