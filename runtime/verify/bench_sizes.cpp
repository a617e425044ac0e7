#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>

#include "iris/bench.hpp"

namespace iris {
namespace {

/// How nccl-tests counts a collective (its AllReduceGetBw and the like).
struct Convention {
  std::string_view pattern;
  bool size_has_world;  ///< the size is world · m · n elements rather than m · n
  double (*bus_factor)(double world);
};

constexpr auto reduce_factor = [](double world) { return 2 * (world - 1) / world; };
constexpr auto exchange_factor = [](double world) { return (world - 1) / world; };
constexpr auto unit_factor = [](double) { return 1.0; };

constexpr std::array<Convention, 5> conventions = {{
    {"all_reduce", false, reduce_factor},
    {"all_gather", true, exchange_factor},
    {"reduce_scatter", true, exchange_factor},
    {"all_to_all", true, exchange_factor},
    {"broadcast", false, unit_factor},
}};

const Convention* find_convention(const irisgen::Pattern& pattern) {
  for (const Convention& convention : conventions) {
    if (convention.pattern == pattern.name) return &convention;
  }
  return nullptr;
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw std::invalid_argument("cannot read the sizes '" + std::string(text) + "': " + why +
                              "; write FIRST:LAST or FIRST:LAST:FACTOR, as in 4K:64M");
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

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (std::size_t colon = text.find(':'); colon != text.npos; colon = text.find(':')) {
    pieces.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  pieces.push_back(text);
  return pieces;
}

}  // namespace

std::vector<std::int64_t> parse_sizes(std::string_view text) {
  const std::vector<std::string_view> pieces = split(text);
  if (pieces.size() > 3) refuse(text, "there are more than three parts");
  const std::int64_t first = parse_size(pieces[0], text);
  const std::int64_t last = pieces.size() > 1 ? parse_size(pieces[1], text) : first;
  const std::int64_t factor = pieces.size() > 2 ? parse_size(pieces[2], text) : 4;
  if (last < first) refuse(text, "the last size is smaller than the first");
  if (factor < 2) refuse(text, "the factor must be at least 2");
  std::vector<std::int64_t> sizes = {first};
  while (sizes.back() <= last / factor) sizes.push_back(sizes.back() * factor);
  return sizes;
}

irisgen::KernelSpec at_size(const irisgen::KernelSpec& kernel, int world, std::int64_t bytes) {
  const Convention* const convention = find_convention(*kernel.pattern);
  if (!convention)
    throw std::invalid_argument(std::string(kernel.pattern->name) +
                                " has no single size: it is measured at the shape in its spec; leave the sizes out");
  const std::int64_t element = irisgen::bytes_of(kernel.dtype) * (convention->size_has_world ? world : 1);
  irisgen::KernelSpec sized = kernel;
  sized.m = {.value = 1, .dynamic = false, .where = kernel.m.where};
  sized.n = {.value = std::max<std::int64_t>(1, bytes / element), .dynamic = false, .where = kernel.n.where};
  return sized;
}

std::int64_t size_of(const irisgen::KernelSpec& kernel, int world, const irisgen::Extents& extents) {
  const Convention* const convention = find_convention(*kernel.pattern);
  if (!convention) return 0;
  return extents.m * extents.n * irisgen::bytes_of(kernel.dtype) * (convention->size_has_world ? world : 1);
}

double bus_factor(const irisgen::Pattern& pattern, int world) {
  const Convention* const convention = find_convention(pattern);
  return convention ? convention->bus_factor(world) : 0;
}

}  // namespace iris
