#include "irisgen/launcher.hpp"

#include <algorithm>
#include <vector>

#include "generator/emit/layout.hpp"
#include "generator/plan/describe.hpp"
#include "irisgen/pattern.hpp"

namespace irisgen {
namespace {

std::string cpp_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return "double";
    case Dtype::f32:
      return "float";
    case Dtype::f16:
      return "iris::device::f16";
    case Dtype::bf16:
      return "iris::device::bf16";
    case Dtype::i32:
      return "std::int32_t";
  }
  return "";
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : separator).append(part);
  return text;
}

void add_once(std::vector<std::string>& texts, std::string text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
}

std::string includes(const Plan& plan) {
  const bool integers = plan.kernel.dtype == Dtype::i32 || !plan.dynamic_extents.empty();
  return std::string(integers ? "#include <cstdint>\n" : "") +
         "#include <iris/embedded.hpp>\n#include <iris/kernel.hpp>\n#include <iris/world.hpp>\n#include <span>\n";
}

/// The device vocabulary's headers belong in kernels; a launcher needs only pointers.
std::string declarations(Dtype dtype) {
  if (dtype != Dtype::f16 && dtype != Dtype::bf16) return "";
  return "\nnamespace iris::device {\nstruct " + std::string(to_string(dtype)) +
         ";  // 16 bits; iris/device/numeric.hpp defines it\n}\n";
}

/// `(85002)`, or each world's where they differ: `(16, 512) of 2 ranks, (64, 512) of 8`.
std::string shapes(std::span<const Plan> plans, std::size_t argument) {
  std::vector<std::string> distinct;
  std::vector<std::string> by_world;
  for (const Plan& plan : plans) {
    const std::string shape = describe_shape(plan, plan.arguments[argument]);
    add_once(distinct, shape);
    add_once(by_world, shape + " in a world of " + std::to_string(plan.world));
  }
  return distinct.size() == 1 ? distinct[0] : join(by_world, ", ");
}

std::string argument_comments(std::span<const Plan> plans) {
  std::string text;
  for (std::size_t i = 0; i < plans[0].arguments.size(); ++i) {
    const Argument& argument = plans[0].arguments[i];
    const auto is_symmetric = [i](const Plan& plan) { return plan.arguments[i].symmetric; };
    text += "  /// `" + argument.name + "`: " + shapes(plans, i);
    text += argument.access == Access::read ? ", read" : ", written";
    if (argument.root_only) text += " on the root only";
    if (std::ranges::any_of(plans, is_symmetric)) text += "; on the symmetric heap";
    text += ".\n";
  }
  return text;
}

/// `, {.n = n}`: the extents that a launch, or its capacity, gives.
std::string extents_initialiser(const Plan& plan, const std::string& prefix) {
  std::vector<std::string> members;
  members.reserve(plan.dynamic_extents.size());
  for (const char name : plan.dynamic_extents) members.push_back("." + std::string(1, name) + " = " + prefix + name);
  return "{" + join(members, ", ") + "}";
}

std::string constructor(const Plan& plan, const std::string& name) {
  std::string parameters = "iris::Context& context";
  std::string comment;
  for (const char extent : plan.dynamic_extents) {
    parameters += ", std::int64_t capacity_" + std::string(1, extent);
    comment += "  /// No launch may exceed `capacity_" + std::string(1, extent) + "`.\n";
  }
  const std::string capacity =
      plan.dynamic_extents.empty() ? "" : ",\n                " + extents_initialiser(plan, "capacity_");
  return "  /// Collective: every rank of the world makes one, in the same order. Throws std::runtime_error if the "
         "kernel\n"
         "  /// is not built for the world's size and target, or if its blocks do not fit on the device together.\n" +
         comment + "  " + (plan.dynamic_extents.empty() ? "explicit " : "") + name + "(" + parameters +
         ")\n      : kernel_(context, iris::find_embedded(embedded(), context.num_ranks(), "
         "context.device().target().name)" +
         capacity + ") {}\n";
}

std::string call_operator(std::span<const Plan> plans) {
  const Plan& plan = plans[0];
  std::vector<std::string> parameters;
  std::vector<std::string> buffers;
  for (const Argument& argument : plan.arguments) {
    const std::string pointer = cpp_type(argument.dtype) + "*";
    const bool reads = argument.access == Access::read;
    parameters.push_back((reads ? "const " : "") + pointer + " " + argument.name);
    buffers.push_back(reads ? "const_cast<" + pointer + ">(" + argument.name + ")" : argument.name);
  }
  for (const char name : plan.dynamic_extents) parameters.push_back("std::int64_t " + std::string(1, name));
  parameters.emplace_back("iris::Stream stream = nullptr");
  return "  /// Enqueues one launch; every rank does. Row-major, per rank:\n" + argument_comments(plans) +
         lay_out_signature("  void operator()(", join(parameters, ", "), ") {") + "\n    void* const buffers[] = {" +
         join(buffers, ", ") + "};\n    kernel_.launch(buffers, " + extents_initialiser(plan, "") + ", stream);\n  }\n";
}

}  // namespace

std::string class_name(std::string_view kernel_name) {
  std::string name;
  bool starts_word = true;
  for (const char c : kernel_name) {
    if (c != '_') name += starts_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    starts_word = c == '_';
  }
  const bool is_identifier = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
  return is_identifier ? name : "Kernel" + name;
}

std::string emit_launcher(std::span<const Plan> plans) {
  const Plan& first = plans.front();
  const std::string name = class_name(first.kernel.name);
  std::vector<std::string> builds;
  for (const Plan& plan : plans) add_once(builds, describe(plan));
  return "// Generated by irisgen (language 1) from kernel '" + first.kernel.name +
         "'; change its description, not this file.\n#pragma once\n\n" + includes(first) +
         declarations(first.kernel.dtype) + "\nnamespace irisgen_kernels {\n\n/// " +
         std::string(first.kernel.pattern->summary) + "\n///\n/// - " + join(builds, "\n/// - ") + "\nclass " + name +
         " {\n public:\n" + constructor(first, name) + "\n" + call_operator(plans) +
         "\n  /// Every build of this kernel in the program.\n"
         "  static std::span<const iris::EmbeddedKernel> embedded();\n"
         "\n private:\n  iris::Kernel kernel_;\n};\n\n}  // namespace irisgen_kernels\n";
}

}  // namespace irisgen
