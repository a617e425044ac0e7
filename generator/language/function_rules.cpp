#include "generator/language/function_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "generator/language/unicode.hpp"

namespace irisgen {
namespace {

constexpr std::array<std::string_view, 4> per_names = {"column", "row", "element", "output"};  // of Per, in its order

std::optional<double> number_of(const Value* value) {
  if (!value) return std::nullopt;
  if (const auto* integer = value->as<std::int64_t>()) return static_cast<double>(*integer);
  if (const auto* number = value->as<double>()) return *number;
  const auto* word = value->as<std::string>();
  if (word && *word == "infinity") return std::numeric_limits<double>::infinity();
  if (word && *word == "-infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::optional<double> error_bound(const Value& function, std::string_view key, Report& report) {
  const Value* value = function.find(key);
  const std::optional<double> number = number_of(value);
  if (number && !(*number >= 0 && *number <= 1e30)) {
    report.error(value->where, in_quotes(key) + " bounds a difference, so write a number from 0 to 1e30");
  }
  return number;
}

UserFunction::Argument read_function_argument(const Member& member) {
  UserFunction::Argument argument{.name = member.key, .where = member.where};
  const Value* per = member.value.find("per");
  if (const auto* word = per ? per->as<std::string>() : nullptr) {
    const auto* const found = std::ranges::find(per_names, *word);
    if (found != per_names.end()) argument.per = static_cast<Per>(found - per_names.begin());
  }
  const Value* dtype = member.value.find("dtype");
  if (const auto* word = dtype ? dtype->as<std::string>() : nullptr) argument.dtype = iris::dtype_from(*word);
  return argument;
}

std::optional<UserFunction> read_function(const Value* value, Report& report) {
  if (!value || !value->as<Object>()) return std::nullopt;
  UserFunction function;
  if (const Value* source = value->find("source")) {
    function.where_source = source->where;
    if (const auto* path = source->as<std::string>()) function.source = *path;
  }
  if (const Value* name = value->find("function")) {
    function.where_function = name->where;
    if (const auto* text = name->as<std::string>()) function.function = *text;
  }
  const Value* identity = value->find("identity");
  function.identity = number_of(identity).value_or(0);
  function.where_identity = identity ? identity->where : function.where_function;
  function.relative = error_bound(*value, "relative", report);
  function.absolute = error_bound(*value, "absolute", report);
  const Value* arguments = value->find("arguments");
  if (const Object* named = arguments ? arguments->as<Object>() : nullptr) {
    for (const Member& argument : *named) function.arguments.push_back(read_function_argument(argument));
  }
  return function;
}

nlohmann::json to_json(const UserFunction& function, bool is_operation) {
  nlohmann::json json = {{"source", function.source}, {"function", function.function}};
  if (function.relative) json["relative"] = *function.relative;
  if (function.absolute) json["absolute"] = *function.absolute;
  if (is_operation) {
    json["identity"] = function.identity;
    if (std::isinf(function.identity)) json["identity"] = function.identity > 0 ? "infinity" : "-infinity";
  }
  for (const UserFunction::Argument& argument : function.arguments) {
    nlohmann::json& entry = json["arguments"][argument.name] = nlohmann::json::object();
    if (argument.per) entry["per"] = to_string(*argument.per);
    if (argument.dtype) entry["dtype"] = iris::to_string(*argument.dtype);
  }
  return json;
}

}  // namespace

std::string_view to_string(Per per) {
  return per_names.at(static_cast<std::size_t>(per));
}

UserFunctions read_user_functions(const Value& kernel, Report& report) {
  UserFunctions functions;
  functions.operation = read_function(kernel.find("op"), report);
  functions.prologue = read_function(kernel.find("prologue"), report);
  functions.epilogue = read_function(kernel.find("epilogue"), report);
  return functions;
}

void add_user_functions(const UserFunctions& functions, nlohmann::json& kernel) {
  if (functions.operation) kernel["op"] = to_json(*functions.operation, true);
  if (functions.prologue) kernel["prologue"] = to_json(*functions.prologue, false);
  if (functions.epilogue) kernel["epilogue"] = to_json(*functions.epilogue, false);
}

}  // namespace irisgen
