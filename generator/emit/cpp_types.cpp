#include "generator/emit/cpp_types.hpp"

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
