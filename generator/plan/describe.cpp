#include "generator/plan/describe.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

std::string world_and_extents(const Problem& problem) {
  std::string text = ", " + std::to_string(problem.world) + (problem.world == 1 ? " rank" : " ranks");
  if (problem.root) text += ", from rank " + std::to_string(*problem.root);
  for (const auto& [name, extent] : named_extents(problem)) {
    text += ", " + name + (extent.dynamic ? " dynamic" : " = " + std::to_string(extent.value));
  }
  return text;
}

std::string describe_user(const KernelPlan& kernel) {
  const Problem& problem = kernel.problem;
  return kernel.source->entry + " of " + kernel.source->file + ", " + std::string(to_string(problem.dtype)) +
         world_and_extents(problem);
}

/// `, epilogue gelu of gelu.hip`
std::string describe_functions(const std::vector<FunctionPlan>& functions) {
  std::string text;
  for (const FunctionPlan& function : functions) {
    text.append(", ").append(to_string(function.role)).append(" ");
    text += function.source.entry + " of " + function.source.file;
  }
  return text;
}

}  // namespace

std::string describe(const Problem& problem, std::string_view variant) {
  std::string text = problem.pattern;
  if (!variant.empty()) text.append(" (").append(variant).append(")");
  text.append(" of ").append(to_string(problem.dtype));
  if (problem.result != problem.dtype) text += " to " + std::string(to_string(problem.result));
  if (problem.op) {
    text += ", " + std::string(to_string(*problem.op)) + " in " + std::string(to_string(problem.accumulate));
  }
  if (problem.shard == "n") text += " by columns";
  if (problem.layout_b == iris::Layout::nk) text += ", B as (n,k)";
  return text + world_and_extents(problem);
}

std::string pattern_words(std::string_view pattern) {
  return pattern == user_pattern ? "user kernel" : std::string(pattern);
}

std::string describe(const Plan& plan) {
  const bool is_user = plan.problem.pattern == user_pattern;
  const std::string what = is_user ? describe_user(plan.kernels.front())
                                   : describe(plan.problem, plan.variant) + describe_functions(plan.function_plans);
  return what + ", for " + std::string(plan.target->name);
}

std::string describe(const Plan& plan, const KernelPlan& kernel) {
  const std::string what = kernel.source
                               ? describe_user(kernel)
                               : describe(kernel.problem, kernel.variant) + describe_functions(kernel.functions);
  return what + ", for " + std::string(plan.target->name);
}

std::string config_struct(const KernelPlan& kernel) {
  std::string text = "struct Config {\n";
  for (const Constant& constant : kernel.constants) {
    const bool is_number = std::holds_alternative<std::int64_t>(constant.value);
    text += (is_number ? "  static constexpr i32 " : "  using ") + constant.name + " = " + constant.text() + ";";
    text += (constant.unit.empty() ? "" : "  // " + constant.unit) + "\n";
  }
  return text + "};\n";
}

std::string_view describe(iris::Access access) {
  switch (access) {
    case iris::Access::read:
      return "read";
    case iris::Access::write:
      return "written";
    case iris::Access::update:
      return "read and written";
  }
  return "";
}

std::string_view describe(iris::InPlace in_place) {
  switch (in_place) {
    case iris::InPlace::no:
      return "not possible";
    case iris::InPlace::same_buffer:
      return "the output may be the input";
    case iris::InPlace::own_block:
      return "the smaller of input and output may be block `rank` of the larger";
  }
  return "";
}

std::string symbol_of(const std::string& name, const KernelPlan& kernel) {
  const Problem& problem = kernel.problem;
  std::string symbol = name + "_";
  if (!kernel.part.empty() && kernel.part != kernel.variant) symbol += kernel.part + "_";
  symbol += kernel.variant + "_" + std::string(to_string(problem.dtype));
  if (problem.result != problem.dtype) symbol += "_to_" + std::string(to_string(problem.result));
  if (problem.op) symbol += "_" + std::string(to_string(*problem.op));
  if (problem.layout_b == iris::Layout::nk) symbol += "_nk";
  symbol += "_w" + std::to_string(problem.world);
  for (const auto& [extent_name, extent] : named_extents(problem)) {
    symbol += extent.dynamic ? "_dynamic_" + extent_name : "_" + extent_name + std::to_string(extent.value);
  }
  return symbol;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array units = {"KB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < units.size(); ++unit) value /= 1000;
  // By hand, so that no locale's point gets in.
  const auto tenths = std::llround(value * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + units.at(unit);
}

}  // namespace irisgen
