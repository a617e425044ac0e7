#pragma once

#include <string>
#include <string_view>

namespace irisgen {

/// Whether a kernel of that name could not be emitted: a keyword of C++, or what emitted code uses itself.
bool is_reserved(std::string_view name);

/// Whether it is a word in capitals alone, like NULL and EOF: what a header of the system defines can stand anywhere.
bool is_for_macros(std::string_view name);

/// The launcher's class: gradient_sum → GradientSum.
std::string class_name(std::string_view kernel_name);

}  // namespace irisgen
