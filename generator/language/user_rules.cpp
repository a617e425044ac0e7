#include "generator/language/user_rules.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "generator/language/unicode.hpp"

namespace irisgen {
namespace {

const Object* map_of(const Value* value) {
  return value ? value->as<Object>() : nullptr;
}

double number_of(const Value& reference, std::string_view key, double most, Report& report) {
  const Value* value = reference.find(key);
  if (!value || value->invalid()) return 0;
  const auto* integer = value->as<std::int64_t>();
  const auto* number = value->as<double>();
  const double result = integer ? static_cast<double>(*integer) : number ? *number : 0;
  if (!(result >= 0 && result <= most)) {
    const std::string limit = most == 1 ? "1" : "1e30";
    report.error(value->where, in_quotes(key) + " bounds a difference, so write a number from 0 to " + limit);
  }
  return result;
}

UserArgument read_argument(const Member& member) {
  UserArgument argument{.name = member.key, .where = member.where};
  if (const Value* shape = member.value.find("shape"); shape && shape->as<Array>()) {
    argument.shape.emplace();
    for (const Value& dimension : *shape->as<Array>()) {
      const auto* number = dimension.as<std::int64_t>();
      const auto* text = dimension.as<std::string>();
      argument.shape->push_back({number ? std::to_string(*number) : text ? *text : "", dimension.where});
    }
  }
  const Value* access = member.value.find("access");
  if (const auto* word = text_of(access)) {
    argument.access = *word == "read"    ? iris::Access::read
                      : *word == "write" ? iris::Access::write
                                         : iris::Access::update;
    argument.where_access = access->where;
  }
  if (const Value* value = member.value.find("value")) {
    argument.where_value = value->where;
    if (const auto* integer = value->as<std::int64_t>()) argument.value = *integer;
    if (const auto* number = value->as<double>()) argument.value = *number;
    if (const auto* truth = value->as<bool>()) argument.value = *truth;
  }
  return argument;
}

UserReference read_reference(const Value& value, Report& report) {
  UserReference reference{.where = value.where};
  if (!value.as<Object>()) return reference;  // none
  if (const auto* source = text_of(value.find("source"))) reference.source = *source;
  if (const auto* function = text_of(value.find("function"))) reference.function = *function;
  if (const Object* files = map_of(value.find("files"))) {
    for (const Member& file : *files) {
      if (const auto* path = file.value.as<std::string>()) reference.files[file.key] = {*path, file.where};
    }
  }
  reference.relative = number_of(value, "relative", 1, report);
  reference.absolute = number_of(value, "absolute", 1e30, report);
  const bool has_files = value.find("files") != nullptr;
  const bool has_source = value.find("source") != nullptr;
  if (has_files == has_source) {
    report.error(value.where, has_files ? "a reference is a source or files, not both; remove one"
                                        : "a reference names a source and its function, or files; or write none");
  } else if (has_source && !value.find("function")) {
    report.error(value.where,
                 "which function of " + in_quotes(reference.source) + " is the reference? add function: its name");
  } else if (has_files && value.find("function")) {
    report.error(value.find("function")->where, "'function' goes with a source; remove it");
  }
  return reference;
}

/// A number, or a list of them.
void read_constant(const Member& constant, UserKernel& user) {
  const auto* list = constant.value.as<Array>();
  const std::span<const Value> values = list ? std::span(*list) : std::span(&constant.value, 1);
  UserKernel::Number number{.where = constant.where};
  for (const Value& value : values) {
    if (const auto* integer = value.as<std::int64_t>()) number.candidates.push_back(static_cast<int>(*integer));
  }
  if (number.candidates.empty()) return;
  number.value = number.candidates.front();
  if (!list) number.candidates.clear();
  user.constants[constant.key] = std::move(number);
}

/// Few lines of text must not ask for millions of kernels.
void check_combinations(const UserKernel& user, Position where, Report& report) {
  constexpr std::size_t most = 256;
  std::size_t combinations = 1;
  for (const auto& [name, number] : user.constants) {
    combinations *= std::max<std::size_t>(1, number.candidates.size());
    if (combinations <= most) continue;
    report.error(where, "the lists of constants have more than " + std::to_string(most) +
                            " combinations, each a kernel to compile and to measure; make them shorter");
    return;
  }
}

void refuse_without_source(const Value& kernel, Report& report) {
  static constexpr std::array<std::string_view, 4> keys = {"entry", "constants", "arguments", "reference"};
  const Object* object = kernel.as<Object>();
  if (!object) return;
  for (const Member& member : *object) {
    if (std::ranges::find(keys, member.key) == keys.end() || member.value.invalid()) continue;
    report.error(member.where,
                 in_quotes(member.key) + " goes with a kernel of your own; add source: its file, or remove it");
  }
}

}  // namespace

std::optional<UserKernel> read_user_kernel(const Value& kernel, Report& report) {
  const Value* source = kernel.find("source");
  if (!source) {
    refuse_without_source(kernel, report);
    return std::nullopt;
  }
  UserKernel user;
  user.where_source = source->where;
  if (const auto* path = text_of(source)) user.source = *path;
  if (const Value* entry = kernel.find("entry")) {
    user.where_entry = entry->where;
    if (const auto* name = text_of(entry)) user.entry = *name;
  }
  if (const Object* constants = map_of(kernel.find("constants"))) {
    for (const Member& constant : *constants) read_constant(constant, user);
    check_combinations(user, kernel.find("constants")->where, report);
  }
  if (const Object* arguments = map_of(kernel.find("arguments"))) {
    for (const Member& argument : *arguments) user.arguments.push_back(read_argument(argument));
  }
  if (const Value* reference = kernel.find("reference")) user.reference = read_reference(*reference, report);
  return user;
}

std::string path_from(const std::string& folder, const std::string& file) {
  return folder == "." || folder.empty() ? file : folder + (folder.ends_with('/') ? "" : "/") + file;
}

}  // namespace irisgen
