#include "runtime/launch/launch_tensors.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace iris {

namespace {

std::string in_quotes(std::string_view name) {
  return "'" + std::string(name) + "'";
}

/// One argument of a launch, and the tensor that is given for it.
struct Given {
  const Manifest& manifest;
  const Argument& argument;
  const TensorView& tensor;

  /// `gradient_sum: 'input' is f32 (4, 8); …`
  std::runtime_error error(const std::string& why) const {
    return std::runtime_error(manifest.name + ": " + in_quotes(argument.name) + " is " + to_string(tensor) + "; " +
                              why);
  }
  std::runtime_error shape_error() const {
    return error("this kernel takes " + describe_shape(manifest.problem, argument.shape) + " there");
  }
};

void check_elements(const Given& given) {
  const auto& [manifest, argument, tensor] = given;
  const Dtype stored = stored_dtype(argument.dtype);
  if (tensor.dtype() != stored) {
    throw given.error("this kernel takes " + std::string(to_string(stored)) + " there");
  }
  if (argument.access != Access::read && tensor.is_read_only()) {
    throw given.error("this kernel writes it, and the tensor is read-only");
  }
  if (!tensor.is_contiguous()) {
    throw given.error("kernels take tensors without gaps, which has strides " +
                      to_string(contiguous_strides(tensor.shape())) + " here; copy it into one");
  }
}

/// The dimensions that a tensor has, where a description may leave out an m of 1: each with the length that it is to
/// have.
struct Length {
  Dimension dimension;
  std::int64_t actual;
};
std::vector<Length> match_dimensions(const Given& given) {
  const auto& [manifest, argument, tensor] = given;
  const Shape& shape = tensor.shape();
  std::vector<Length> lengths;
  const auto pair_with = [&](std::span<const Dimension> dimensions) {
    for (std::size_t i = 0; i < shape.size(); ++i) lengths.push_back({dimensions[i], shape[i]});
    return lengths;
  };
  if (shape.size() == argument.shape.size()) return pair_with(argument.shape);
  if (argument.shape.empty() && tensor.numel() == 1) return {};
  const bool is_vector = named_extents(manifest.problem).size() < manifest.problem.extents.size();
  if (!is_vector || argument.shape.size() != 2 || shape.size() != 1) throw given.shape_error();
  // (c, n) as c·n, of a description in which c is known.
  const auto rows = static_length(manifest.problem, argument.shape[0]);
  if (!rows.has_value() || *rows == 0 || shape[0] % *rows != 0) throw given.shape_error();
  return {{argument.shape[1], shape[0] / *rows}};
}

/// The extent that gives a dimension this length.
std::int64_t solve(const Given& given, const Length& length) {
  const auto& [extent, factor, divisor, offset, multiple] = length.dimension;
  const std::int64_t times_factor = length.actual - offset;
  std::int64_t value = 0;
  if (times_factor < 0 || times_factor % factor != 0 || __builtin_mul_overflow(times_factor / factor, divisor, &value))
    throw given.shape_error();
  return value;
}

}  // namespace

Extents extents_of(const Manifest& manifest, std::span<const TensorView> tensors, const Extents& given_extents) {
  if (tensors.size() != manifest.arguments.size()) {
    throw std::runtime_error(manifest.name + ": takes " + std::to_string(manifest.arguments.size()) + " tensors, not " +
                             std::to_string(tensors.size()));
  }
  Extents extents = given_extents;
  std::vector<std::string_view> origins(manifest.problem.extents.size(), "the launch");  // of each extent's value
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Given given{manifest, manifest.arguments[i], tensors[i]};
    check_elements(given);
    for (const Length& length : match_dimensions(given)) {
      const std::string& name = length.dimension.extent;
      if (const auto known = static_length(manifest.problem, length.dimension)) {
        if (*known != length.actual) throw given.shape_error();
        continue;
      }
      const std::int64_t value = solve(given, length);
      const auto index = static_cast<std::size_t>(
          std::ranges::find(manifest.problem.extents, name, &NamedExtent::name) - manifest.problem.extents.begin());
      const auto before = extents.find(name);
      if (before.has_value() && *before != value) {
        throw given.error("there " + name + " is " + std::to_string(value) + ", but by " +
                          (origins[index] == "the launch" ? "the launch" : in_quotes(origins[index])) + " it is " +
                          std::to_string(*before));
      }
      if (!before.has_value()) origins[index] = given.argument.name;
      extents.set(name, value);
    }
  }
  return extents;
}

}  // namespace iris
