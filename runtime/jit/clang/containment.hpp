#pragma once

#include <functional>
#include <optional>
#include <string>

namespace iris::clang_library {

/// Runs `work` on a thread of its own with a deep stack. A crash in it (a signal, a stack overflow, an exit, LLVM's own
/// fatal errors) ends that thread's work and not the process; memory that it held is lost. Returns what happened, or
/// nothing where `work` came to its end. Thread-safe; the process's signal handlers are as before once it returns.
std::optional<std::string> run_contained(const std::function<void()>& work);

}  // namespace iris::clang_library
