#pragma once

#include <string>
#include <string_view>

namespace iris::clang_library {

/// The answer to a question in JSON, as JSON. Throws std::exception for a question that nobody understands.
std::string answer_question(std::string_view question);

}  // namespace iris::clang_library
