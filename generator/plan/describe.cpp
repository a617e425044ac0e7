#include "generator/plan/describe.hpp"

#include "irisgen/pattern.hpp"

namespace irisgen {

const Extent& extent_of(const KernelSpec& kernel, char name) {
  switch (name) {
    case 'm':
      return kernel.m;
    case 'n':
      return kernel.n;
    default:
      return kernel.k;
  }
}

std::string named_extents(const KernelSpec& kernel) {
  const std::string names(kernel.pattern->extents);
  const bool is_vector = names == "mn" && !kernel.m.dynamic && kernel.m.value == 1;
  return is_vector ? "n" : names;
}

std::string describe(const Plan& plan) {
  const KernelSpec& kernel = plan.kernel;
  std::string text =
      std::string(kernel.pattern->name) + " (" + plan.variant + ") of " + std::string(to_string(kernel.dtype));
  if (kernel.pattern->reduces) {
    text += ", " + std::string(to_string(kernel.op)) + " in " + std::string(to_string(kernel.accumulate));
  }
  text += ", " + std::to_string(plan.world) + (plan.world == 1 ? " rank" : " ranks");
  if (kernel.pattern->rooted) text += ", from rank " + std::to_string(kernel.root);
  for (const char name : named_extents(kernel)) {
    const Extent& extent = extent_of(kernel, name);
    text += ", ";
    text += name;
    text += extent.dynamic ? " dynamic" : " = " + std::to_string(extent.value);
  }
  return text + ", for " + std::string(plan.target->name);
}

std::string describe_shape(const Plan& plan, const Argument& argument) {
  std::string text = "(";
  for (const Argument::Dimension& dimension : argument.shape) {
    const bool is_named = named_extents(plan.kernel).find(dimension.extent) != std::string::npos;
    if (!is_named && dimension.factor == 1) continue;
    if (text.size() > 1) text += ", ";
    const Extent& extent = extent_of(plan.kernel, dimension.extent);
    if (!extent.dynamic) {
      text += std::to_string(extent.value * dimension.factor / dimension.divisor);
      continue;
    }
    if (dimension.factor != 1) text += std::to_string(dimension.factor) + "·";
    text += dimension.extent;
    if (dimension.divisor != 1) text += "/" + std::to_string(dimension.divisor);
  }
  return text + ")";
}

}  // namespace irisgen
