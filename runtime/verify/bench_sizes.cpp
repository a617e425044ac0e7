#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>

#include "iris/bench.hpp"
#include "irisgen/pattern.hpp"

namespace iris {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw std::invalid_argument("cannot read the sizes '" + std::string(text) + "': " + why +
                              "; write FIRST:LAST or FIRST:LAST:FACTOR, as in 4K:64M, with commas between several");
}

std::int64_t unit_of(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "K" || suffix == "k") return std::int64_t{1} << 10;
  if (suffix == "M" || suffix == "m") return std::int64_t{1} << 20;
  if (suffix == "G" || suffix == "g") return std::int64_t{1} << 30;
  return 0;
}

std::int64_t parse_size(std::string_view text, std::string_view whole) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::int64_t unit = unit_of(text.substr(static_cast<std::size_t>(rest - text.data())));
  if (error != std::errc{} || number <= 0 || unit == 0)
    refuse(whole, "'" + std::string(text) + "' is no positive number with K, M, G or nothing after it");
  if (number > std::numeric_limits<std::int64_t>::max() / unit)
    refuse(whole, "'" + std::string(text) + "' is too large");
  return number * unit;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != text.npos; end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

/// Appends the sizes of one range of `whole`.
void add_range(std::string_view range, std::string_view whole, std::vector<std::int64_t>& sizes) {
  const std::vector<std::string_view> parts = split(range, ':');
  if (parts.size() > 3) refuse(whole, "there are more than three parts");
  const std::int64_t first = parse_size(parts[0], whole);
  const std::int64_t last = parts.size() > 1 ? parse_size(parts[1], whole) : first;
  const std::int64_t factor = parts.size() > 2 ? parse_size(parts[2], whole) : 4;
  if (last < first) refuse(whole, "the last size is smaller than the first");
  if (factor < 2) refuse(whole, "the factor must be at least 2");
  sizes.push_back(first);
  while (sizes.back() <= last / factor) sizes.push_back(sizes.back() * factor);
}

}  // namespace

std::vector<std::int64_t> parse_sizes(std::string_view text) {
  std::vector<std::int64_t> sizes;
  for (const std::string_view range : split(text, ',')) add_range(range, text, sizes);
  return sizes;
}

irisgen::KernelSpec at_size(const irisgen::KernelSpec& kernel, int world, std::int64_t bytes) {
  const Problem& problem = kernel.problem;
  const irisgen::BusConvention* const bus = irisgen::pattern_of(problem).bus;
  if (bus == nullptr) {
    throw std::invalid_argument(problem.pattern +
                                " has no single size: it is measured at the shape in its spec; leave the sizes out");
  }
  const std::int64_t element = bytes_of(problem.dtype) * (bus->size_has_world ? world : 1);
  irisgen::KernelSpec sized = kernel;
  for (NamedExtent& named : sized.problem.extents) named.extent = {.value = 1};
  sized.problem.extents.back().extent.value = std::max<std::int64_t>(1, bytes / element);
  return sized;
}

}  // namespace iris
