#include "generator/emit/bare_checks.hpp"

#include <algorithm>
#include <vector>

#include "generator/emit/amount.hpp"
#include "generator/emit/bare_memory.hpp"
#include "generator/emit/bare_steps.hpp"

namespace irisgen {

std::string extent_checks(const Plan& plan, std::string_view api) {
  std::vector<std::string> wrong;
  const auto add = [&](const std::string& condition) {
    if (std::ranges::find(wrong, condition) == wrong.end()) wrong.push_back(condition);
  };
  for (const std::string& extent : plan.problem.dynamic_extents()) add(name_in_launch(extent) + " < 0");
  for (const std::string& extent : extents_with_capacity(plan))
    add(name_in_launch(extent) + " > " + capacity_of(extent) + "_");
  const auto add_shape = [&](const std::vector<iris::Dimension>& shape) {
    for (const iris::Dimension& dimension : shape) {
      if (dimension.extent.empty() || !plan.problem.extent(dimension.extent).dynamic) continue;
      if (dimension.divisor != 1)
        add(name_in_launch(dimension.extent) + " % " + std::to_string(dimension.divisor) + " != 0");
      if (dimension.offset < 0) add(amount_of(dimension, plan.problem, name_in_launch).text() + " < 0");
    }
  };
  for (const iris::Argument& argument : plan.arguments) add_shape(argument.shape);
  for (const iris::Intermediate& buffer : plan.intermediates) add_shape(buffer.shape);
  std::string text;
  for (const std::string& condition : wrong)
    text.append("    if (").append(condition).append(") return ").append(api).append("ErrorInvalidValue;\n");
  return text;
}

}  // namespace irisgen
