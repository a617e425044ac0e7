#pragma once

#include <string>
#include <string_view>

namespace irisgen {

/// Using-declarations, a line each, of the functions of math.hpp that a text names; none if `includes` do not bring
/// math.hpp, as random.hpp and approximate.hpp do, too. NVRTC, hipcc and the C library have functions of these names in
/// the global namespace, where a using-directive for iris::device puts ours, too: calls would be ambiguous. What is
/// declared in an inner namespace is found first.
std::string math_declarations(std::string_view includes, std::string_view text);

}  // namespace irisgen
