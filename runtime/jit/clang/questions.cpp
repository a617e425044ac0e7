#include "runtime/jit/clang/questions.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "runtime/jit/clang/tasks.hpp"

namespace iris::clang_library {
namespace {

using nlohmann::json;

struct Task {
  std::string_view name;
  json (*answer)(const json& question);
};

/// What can be asked of a source: a row here, a line in tasks.hpp, a file.
constexpr std::array tasks = {
    Task{"import_kernel", answer_import_kernel},
    Task{"lint", answer_lint},
    Task{"locate", answer_locate},
    Task{"read_function", answer_read_function},
    Task{"read_kernel", answer_read_kernel},
    Task{"read_reference", answer_read_reference},
};

}  // namespace

std::string answer_question(std::string_view question) {
  const json asked = json::parse(question);
  const auto name = asked.at("task").get<std::string>();
  const auto* const task = std::ranges::find(tasks, name, &Task::name);
  if (task == tasks.end()) throw std::invalid_argument("there is no task '" + name + "'");
  return task->answer(asked).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace iris::clang_library
