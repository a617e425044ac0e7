#include <nlohmann/json.hpp>

#include "runtime/jit/clang/parse.hpp"
#include "runtime/jit/clang/tasks.hpp"

namespace iris::clang_library {

// Question: name, source, headers. Answer: findings, of the front end alone where it has found an error.
nlohmann::json answer_lint(const nlohmann::json& question) {
  const Parsed parsed(parse_request(question));
  return {{"findings", parsed.diagnostics()}};
}

}  // namespace iris::clang_library
