#pragma once

#include <nlohmann/json_fwd.hpp>

namespace iris {

/// Asks Clang about a source. `question` has a `task`, one of those in runtime/jit/clang/questions.cpp, the `name` that
/// messages show, the `source`, and what the task takes besides; the vocabulary of kernels is added here. What is wrong
/// with the source is part of the answer. Throws std::runtime_error, in words: where Clang is not on this machine, with
/// the package that brings it, and where it crashes.
nlohmann::json ask(nlohmann::json question);

}  // namespace iris
