#include "generator/emit/cpp_types.hpp"

#include <algorithm>
#include <set>

#include "generator/emit/layout.hpp"

namespace irisgen {

std::string cpp_type(iris::Dtype dtype) {
  using iris::Dtype;
  switch (dtype) {
    case Dtype::f64:
      return "double";
    case Dtype::f32:
    case Dtype::tf32:
      return "float";
    case Dtype::f16:
      return "iris::device::Float16";
    case Dtype::bf16:
      return "iris::device::BFloat16";
    case Dtype::e4m3:
      return "iris::device::Float8E4M3";
    case Dtype::i32:
      return "std::int32_t";
  }
  return "";
}

std::string cpp_type(iris::ScalarType type) {
  using iris::ScalarType;
  switch (type) {
    case ScalarType::f32:
      return "float";
    case ScalarType::f64:
      return "double";
    case ScalarType::i32:
      return "std::int32_t";
    case ScalarType::i64:
      return "std::int64_t";
    case ScalarType::u32:
      return "std::uint32_t";
    case ScalarType::u64:
      return "std::uint64_t";
    case ScalarType::boolean:
      return "bool";
  }
  return "";
}

std::string parameter_of(const iris::MatrixMap& map) {
  return map.buffer + (map.last_of ? "_last_map" : "_map");
}

std::vector<LaunchParameter> launch_parameters(const Plan& plan) {
  std::vector<LaunchParameter> all;
  all.reserve(plan.arguments.size() + plan.scalars.size());
  for (const iris::Argument& argument : plan.arguments) all.push_back({.buffer = &argument});
  for (const iris::Scalar& scalar : plan.scalars) all.push_back({.scalar = &scalar});
  const auto& source = plan.kernels.front().source;
  if (!source) return all;
  std::ranges::sort(all, {}, [&](const LaunchParameter& one) {
    const std::string& name = one.buffer != nullptr ? one.buffer->name : one.scalar->name;
    return std::ranges::find(source->parameters, name, &SourceParameter::name) - source->parameters.begin();
  });
  return all;
}

std::string declarations_of(std::span<const iris::Argument> arguments) {
  constexpr std::string_view device = "iris::device::";
  std::set<std::string> declared;
  std::string text;
  for (const iris::Argument& argument : arguments) {
    const std::string type = cpp_type(argument.dtype);
    if (!type.starts_with(device) || !declared.insert(type).second) continue;
    text += "struct " + type.substr(device.size()) + ";  // its bits; iris/device/numeric.hpp defines it\n";
  }
  return text.empty()
             ? ""
             : "\nnamespace iris::device {\n" + align_trailing_comments(text) + "}  // namespace iris::device\n";
}

}  // namespace irisgen
