#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iris::clang_library {

/// How one target is compiled and linked.
struct TargetArguments {
  std::string name;
  bool amd = false;
  std::vector<std::string> frontend;  ///< of `clang -cc1`, without input and output
  std::vector<std::string> linker;    ///< of `ld.lld`, without input and output
};

/// The targets that this library compiles for: the CPU that it runs on, as `host`, and AMD's.
const std::vector<TargetArguments>& target_arguments();

/// Of `clang -cc1`, without input, to read a source for the CPU and make nothing of it.
std::vector<std::string> syntax_arguments();

/// nullptr if there is none of that name.
const TargetArguments* find_target_arguments(std::string_view name);

}  // namespace iris::clang_library
