#include "iris/problem.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace iris {
namespace {

std::int64_t length_of(const Dimension& dimension, std::int64_t extent) {
  const std::int64_t length = extent * dimension.factor / dimension.divisor + dimension.offset;
  return (length + dimension.multiple - 1) / dimension.multiple * dimension.multiple;
}

}  // namespace

std::int64_t Extents::at(std::string_view name) const {
  if (const auto value = find(name)) return *value;
  throw std::out_of_range("there is no extent '" + std::string(name) + "'");
}

std::optional<std::int64_t> Extents::find(std::string_view name) const {
  const auto entry = std::ranges::find(entries_, name, &Entry::first);
  if (entry == entries_.end()) return std::nullopt;
  return entry->second;
}

void Extents::set(std::string_view name, std::int64_t value) {
  const auto entry = std::ranges::find(entries_, name, &Entry::first);
  if (entry == entries_.end()) {
    entries_.emplace_back(name, value);
  } else {
    entry->second = value;
  }
}

std::string to_string(const Extents& extents) {
  std::vector<Extents::Entry> entries(extents.begin(), extents.end());
  std::ranges::sort(entries);
  std::string text;
  for (const auto& [name, value] : entries) {
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  }
  return text;
}

std::int64_t length_of(const Dimension& dimension, const Extents& extents) {
  return length_of(dimension, dimension.extent.empty() ? 0 : extents.at(dimension.extent));
}

std::vector<std::int64_t> shape_of(const std::vector<Dimension>& shape, const Extents& extents) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(shape.size());
  for (const Dimension& dimension : shape) lengths.push_back(length_of(dimension, extents));
  return lengths;
}

std::optional<std::int64_t> static_length(const Problem& problem, const Dimension& dimension) {
  if (dimension.extent.empty()) return length_of(dimension, 0);
  const Extent& extent = problem.extent(dimension.extent);
  if (extent.dynamic) return std::nullopt;
  return length_of(dimension, extent.value);
}

std::vector<NamedExtent> named_extents(const Problem& problem) {
  const bool is_vector =
      problem.extents.size() == 2 && problem.extents[0].name == "m" && problem.extents[0].extent == Extent{.value = 1};
  return {problem.extents.begin() + (is_vector ? 1 : 0), problem.extents.end()};
}

std::string describe_shape(const Problem& problem, const std::vector<Dimension>& shape) {
  if (shape.empty()) return "one value";
  const std::vector<NamedExtent> named = named_extents(problem);
  std::string text = "(";
  for (const Dimension& dimension : shape) {
    const bool is_hidden = named.size() < problem.extents.size() && dimension.extent == problem.extents[0].name;
    if (is_hidden && dimension.factor == 1) continue;
    if (text.size() > 1) text += ", ";
    if (const auto length = static_length(problem, dimension)) {
      text += std::to_string(*length);
      continue;
    }
    if (dimension.factor != 1) text += std::to_string(dimension.factor) + "·";
    text += dimension.extent;
    if (dimension.divisor != 1) text += "/" + std::to_string(dimension.divisor);
    if (dimension.offset != 0)
      text += (dimension.offset < 0 ? " - " : " + ") + std::to_string(std::abs(dimension.offset));
    if (dimension.multiple != 1) text += " up to a multiple of " + std::to_string(dimension.multiple);
  }
  return text + ")";
}

const Extent& Problem::extent(std::string_view name) const {
  const auto found = std::ranges::find(extents, name, &NamedExtent::name);
  if (found == extents.end()) throw std::out_of_range(pattern + " has no extent '" + std::string(name) + "'");
  return found->extent;
}

bool Problem::has_extent(std::string_view name) const {
  return std::ranges::find(extents, name, &NamedExtent::name) != extents.end();
}

bool Problem::is_static() const {
  return std::ranges::none_of(extents, [](const NamedExtent& named) { return named.extent.dynamic; });
}

std::vector<std::string> Problem::dynamic_extents() const {
  std::vector<std::string> names;
  for (const NamedExtent& named : extents) {
    if (named.extent.dynamic) names.push_back(named.name);
  }
  return names;
}

Extents Problem::static_extents() const {
  Extents lengths;
  for (const NamedExtent& named : extents) {
    if (!named.extent.dynamic) lengths.set(named.name, named.extent.value);
  }
  return lengths;
}

Problem Problem::at(const Extents& given) const {
  Problem bound = *this;
  for (NamedExtent& named : bound.extents) {
    if (named.extent.dynamic) named.extent = {.value = given.at(named.name)};
  }
  return bound;
}

std::int64_t size_of(const Problem& problem, const Extents& given) {
  std::int64_t size = 1;
  for (const NamedExtent& named : problem.extents) {
    const std::int64_t length = named.extent.dynamic ? given.at(named.name) : named.extent.value;
    if (length == 0) return 0;
    if (__builtin_mul_overflow(size, length, &size)) size = std::numeric_limits<std::int64_t>::max();
  }
  return size;
}

}  // namespace iris
