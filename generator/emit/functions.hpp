#pragma once

#include <string>
#include <string_view>

#include "irisgen/plan.hpp"

/// Functions of the user's own in emitted files.
namespace irisgen {

/// `includes`, and what the source includes of device/ beside those.
std::string with_includes(std::string includes, const KernelSource& source);

/// Brings device/'s names to a text that includes so much of it. Ends with a line end.
std::string using_device(std::string_view includes, std::string_view text);

/// A user's text in a namespace, in a file of that name that has so many lines before. The compilers' messages name the
/// user's file for what comes from there. `prelude` stands before the text, without a line end in it.
std::string users_text(const KernelSource& source, const std::string& space, const std::string& prelude,
                       const std::string& file, std::size_t lines_before);

/// Where a function's text stands: `epilogue_source`.
std::string space_of(const FunctionPlan& function);

/// The functions' texts, and the structs by which Config names them, for values of that type. Ends with an empty line;
/// empty if there are none.
std::string function_structs(const KernelPlan& kernel, const std::string& file, std::size_t lines_before);

/// What makes the Epilogue of a launch: `{bias}`; empty if it has no buffers.
std::string epilogue_value(const KernelPlan& kernel);

}  // namespace irisgen
