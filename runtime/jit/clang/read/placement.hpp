#pragma once

#include <clang/Basic/SourceLocation.h>

#include <map>
#include <utility>
#include <vector>

#include "runtime/jit/clang/read/entry.hpp"

namespace iris::clang_library {

/// Parts of the user's files, by offset and length.
using Ranges = std::map<clang::FileID, std::vector<std::pair<unsigned, unsigned>>>;

/// What the user's files write at global scope has a namespace of its own in an emitted file, or several where a file
/// has functions for several roles. Gives what says `extern "C"`, which would make those one and the same, and is to be
/// left out. What cannot move into a namespace is an error in `problems`: names that begin with `::` and are the
/// user's, and additions to irisgen's own namespace.
Ranges place_in_namespace(const Parsed& parsed, Problems& problems);

}  // namespace iris::clang_library
