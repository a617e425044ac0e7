#include "irisgen/launcher.hpp"

#include <algorithm>
#include <vector>

#include "generator/emit/cpp_types.hpp"
#include "generator/emit/layout.hpp"
#include "generator/language/join.hpp"
#include "generator/language/names.hpp"
#include "generator/manifest/hash.hpp"
#include "generator/plan/describe.hpp"
#include "irisgen/pattern.hpp"

namespace irisgen {
namespace {

void add_once(std::vector<std::string>& texts, std::string text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
}

std::vector<std::string> types_of(const Plan& plan) {
  std::vector<std::string> types;
  for (const iris::Argument& argument : plan.arguments) add_once(types, cpp_type(argument.dtype));
  for (const iris::Scalar& scalar : plan.scalars) add_once(types, cpp_type(scalar.type));
  return types;
}

std::string includes(const Plan& plan) {
  const std::vector<std::string> types = types_of(plan);
  const bool integers = !plan.problem.is_static() ||
                        std::ranges::any_of(types, [](const std::string& type) { return type.starts_with("std::"); });
  return std::string(integers ? "#include <cstdint>\n" : "") +
         "#include <iris/embedded.hpp>\n#include <iris/operation.hpp>\n#include <iris/tensor_view.hpp>\n"
         "#include <iris/world.hpp>\n#include <span>\n";
}

/// `(85002)`, or each world's where they differ: `(16, 512) of 2 ranks, (64, 512) of 8`.
std::string shapes(std::span<const LauncherBuild> builds, std::size_t argument) {
  std::vector<std::string> distinct;
  std::vector<std::string> by_world;
  for (const LauncherBuild& build : builds) {
    const Plan& plan = *build.plan;
    const std::string shape = describe_shape(plan.problem, plan.arguments[argument].shape);
    add_once(distinct, shape);
    add_once(by_world, shape + " in a world of " + std::to_string(plan.problem.world));
  }
  return distinct.size() == 1 ? distinct[0] : join(by_world);
}

/// What the source of a user's kernel says of it.
std::string parameter_comment(const Plan& plan, const std::string& name) {
  if (!plan.kernels.front().source) return "";
  for (const SourceParameter& parameter : plan.kernels.front().source->parameters) {
    if (parameter.name == name && !parameter.comment.empty()) return wrap_comment(parameter.comment, "  ///   ");
  }
  return "";
}

std::string summary_of(const Plan& plan) {
  const KernelSource* source = plan.kernels.front().source.get();
  if (source == nullptr || source->comment.empty())
    return "/// " + std::string(pattern_of(plan.problem).summary) + "\n";
  return wrap_comment(source->comment, "/// ");
}

std::string argument_comments(std::span<const LauncherBuild> builds) {
  std::string text;
  const Plan& first = *builds.front().plan;
  for (std::size_t i = 0; i < first.arguments.size(); ++i) {
    const iris::Argument& argument = first.arguments[i];
    const auto is_symmetric = [i](const LauncherBuild& build) { return build.plan->arguments[i].symmetric; };
    text += "  /// `" + argument.name + "`: " + shapes(builds, i);
    text.append(", ").append(describe(argument.access));
    if (argument.root_only) text += " on the root only";
    if (argument.replicated) text += ", the same on all ranks";
    if (std::ranges::any_of(builds, is_symmetric)) text += "; on the symmetric heap";
    text += ".\n" + parameter_comment(first, argument.name);
  }
  for (const iris::Scalar& scalar : first.scalars)
    text += "  /// `" + scalar.name + "`: a number, of this launch.\n" + parameter_comment(first, scalar.name);
  return text;
}

/// What all builds have in common, or what each allows.
std::string in_place_comments(std::span<const LauncherBuild> builds) {
  std::vector<std::string> distinct;
  std::vector<std::string> by_build;
  for (const LauncherBuild& build : builds) {
    const Plan& plan = *build.plan;
    const std::string words(describe(plan.in_place));
    add_once(distinct, "  /// In place: " + words + ".\n");
    by_build.push_back("  /// In place, in a world of " + std::to_string(plan.problem.world) + " for " +
                       std::string(plan.target->name) + ": " + words + ".\n");
  }
  return distinct.size() == 1 ? distinct[0] : join(by_build, "");
}

/// `{{"n", n}}`: the extents or scalars that a launch, or its capacity, gives.
std::string map_initialiser(const std::vector<std::string>& names, const std::string& prefix) {
  std::vector<std::string> entries;
  for (const std::string& name : names) {
    std::string entry = "{\"" + name;
    entries.push_back(entry.append("\", ").append(prefix).append(name).append("}"));
  }
  return "{" + join(entries) + "}";
}

/// The call of a launch on `values`, which begins with `head`: behind them the numbers that the kernel takes by value.
std::string launch_call(const Plan& plan, const std::string& head, const std::string& values) {
  if (plan.scalars.empty()) return lay_out_signature(head, values, ");");
  std::vector<std::string> names;
  names.reserve(plan.scalars.size());
  for (const iris::Scalar& scalar : plan.scalars) names.push_back(scalar.name);
  const std::string column(std::string_view("    operation_.launch(").size(), ' ');
  return lay_out_signature(head, values, ",") + "\n" +
         lay_out_signature(column + "{", map_initialiser(names, "").substr(1), ");");
}

std::string constructor(const Plan& plan, const std::string& name) {
  std::string parameters = "iris::Group& group";
  std::string comment;
  for (const std::string& extent : plan.problem.dynamic_extents()) {
    parameters += ", std::int64_t capacity_" + extent;
    comment += "  /// No launch may exceed `capacity_" + extent + "`.\n";
  }
  const bool is_static = plan.problem.is_static();
  const std::string capacity =
      is_static ? "" : ",\n                   " + map_initialiser(plan.problem.dynamic_extents(), "capacity_");
  return "  /// Collective: every rank of the group makes one, in the same order; a Context is the group of all ranks. "
         "Throws\n"
         "  /// std::runtime_error if the kernel is not built for the group's size and target, or if its blocks do not "
         "fit on\n"
         "  /// the device together.\n" +
         comment + "  " + (is_static ? "explicit " : "") + name + "(" + parameters +
         ")\n      : operation_(group, iris::find_embedded(embedded(), group.num_ranks(), "
         "group.device().target())" +
         capacity + ") {}\n";
}

/// A name for what a launcher itself needs, or that with more underscores where a parameter has it already: those of
/// kernels of the user's own may have any.
std::string own_name(const Plan& plan, std::string name) {
  const auto is_taken = [&] {
    const std::vector<std::string> extents = plan.problem.dynamic_extents();
    const bool is_extent = std::ranges::find(extents, name) != extents.end();
    return is_extent || std::ranges::any_of(launch_parameters(plan), [&](const auto& parameter) {
             return name == (parameter.scalar != nullptr ? parameter.scalar->name : parameter.buffer->name);
           });
  };
  while (is_taken()) name += '_';
  return name;
}

/// The member, where a parameter may have its name.
std::string launch_of(const Plan& plan) {
  return own_name(plan, "operation_") == "operation_" ? "    operation_.launch(" : "    this->operation_.launch(";
}

std::string call_operator(std::span<const LauncherBuild> builds) {
  const Plan& plan = *builds.front().plan;
  const std::string stream = own_name(plan, "stream");
  const std::string array = own_name(plan, "buffers");
  std::vector<std::string> parameters;
  std::vector<std::string> buffers;
  for (const auto& [buffer, scalar] : launch_parameters(plan)) {
    if (scalar != nullptr) {
      parameters.push_back(cpp_type(scalar->type) + " " + scalar->name);
      continue;
    }
    const std::string pointer = cpp_type(buffer->dtype) + "*";
    const bool reads = buffer->access == iris::Access::read;
    parameters.push_back((reads ? "const " : "") + pointer + " " + buffer->name);
    buffers.push_back(reads ? "const_cast<" + pointer + ">(" + buffer->name + ")" : buffer->name);
  }
  for (const std::string& name : plan.problem.dynamic_extents()) parameters.push_back("std::int64_t " + name);
  parameters.push_back("iris::Stream " + stream + " = nullptr");
  return "  /// Enqueues one launch; every rank does. Row-major, per rank:\n" + argument_comments(builds) +
         in_place_comments(builds) + lay_out_signature("  void operator()(", join(parameters), ") {") + "\n" +
         lay_out_signature("    void* const " + array + "[] = {", join(buffers), "};") + "\n" +
         launch_call(plan, launch_of(plan),
                     array + ", " + map_initialiser(plan.problem.dynamic_extents(), "") + ", " + stream) +
         "\n  }\n";
}

/// The dynamic extents that no argument's shape tells.
std::vector<std::string> extents_beside_shapes(const Plan& plan) {
  std::vector<std::string> names = plan.problem.dynamic_extents();
  for (const iris::Argument& argument : plan.arguments) {
    for (const iris::Dimension& dimension : argument.shape) std::erase(names, dimension.extent);
  }
  return names;
}

/// Nothing for a kernel without buffers, which has a call operator already.
std::string call_operator_on_tensors(const Plan& plan) {
  if (plan.arguments.empty()) return "";
  const std::vector<std::string> extents = extents_beside_shapes(plan);
  std::vector<std::string> parameters;
  std::vector<std::string> tensors;
  for (const auto& [buffer, scalar] : launch_parameters(plan)) {
    if (scalar != nullptr) {
      parameters.push_back(cpp_type(scalar->type) + " " + scalar->name);
    } else {
      parameters.push_back("const iris::TensorView& " + buffer->name);
      tensors.push_back(buffer->name);
    }
  }
  for (const std::string& name : extents) parameters.push_back("std::int64_t " + name);
  const std::string stream = own_name(plan, "stream");
  parameters.push_back("iris::Stream " + stream + " = nullptr");
  const std::string values = join(tensors) + "}, " + map_initialiser(extents, "") + ", " + stream;
  return std::string("\n  /// The same on tensors, whose dtypes, shapes and strides are checked") +
         (plan.problem.is_static() ? "" : "; the shapes tell the extents") + ".\n" +
         lay_out_signature("  void operator()(", join(parameters), ") {") + "\n" +
         launch_call(plan, launch_of(plan) + "{", values) + "\n  }\n";
}

/// Another one for other content, so that no two classes of one name are ever taken for each other by a linker.
std::string unique_namespace(std::span<const LauncherBuild> builds) {
  std::string manifests;
  for (const LauncherBuild& build : builds) manifests += to_json(*build.manifest);
  return "builds_" + iris::sha256_hex(manifests).substr(0, 16);
}

}  // namespace

std::string emit_launcher(std::span<const LauncherBuild> builds, const LauncherOptions& options) {
  const Plan& first = *builds.front().plan;
  const std::string name = class_name(first.name);
  const std::string unique = unique_namespace(builds);
  std::vector<std::string> lines;
  for (const LauncherBuild& build : builds) add_once(lines, describe(*build.plan));
  return options.license_comment() + "// Generated by irisgen (language 1) from kernel '" + first.name +
         "'; change its description, not this file.\n#pragma once\n\n" + includes(first) +
         declarations_of(first.arguments) + "\nnamespace " + options.name_space + " {\ninline namespace " + unique +
         " {\n\n" + summary_of(first) + "///\n/// - " + join(lines, "\n/// - ") + "\nclass " + name + " {\n public:\n" +
         constructor(first, name) + "\n" + call_operator(builds) + call_operator_on_tensors(first) +
         "\n  /// Every build of this kernel in the program.\n"
         "  static std::span<const iris::EmbeddedOperation> embedded();\n"
         "\n private:\n  iris::Operation operation_;\n};\n\n}  // namespace " +
         unique + "\n}  // namespace " + options.name_space + "\n";
}

bool is_namespace(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  while (true) {
    const std::string_view part = text.substr(0, text.find("::"));
    if (part.empty() || !letter(part[0]) || !std::ranges::all_of(part, allowed)) return false;
    if (is_reserved(part) || part.find("__") != std::string_view::npos) return false;
    if (part.size() == text.size()) return true;
    text.remove_prefix(part.size() + 2);
  }
}

}  // namespace irisgen
