#include "generator/plan/fast_loops/rows.hpp"

#include <vector>

namespace irisgen {

std::string obstacle_of_types(const Request& request) {
  const Problem& problem = request.problem;
  if (speed_of(request.target, problem.dtype) == 0) return "they take no " + std::string(to_string(problem.dtype));
  const Dtype sums = iris::default_accumulate(problem.dtype);
  return problem.accumulate == sums ? "" : "sums are not in " + std::string(to_string(sums));
}

std::string obstacle_of_rows(const Problem& problem, const Products& products) {
  std::vector<Dimension> contiguous = {{"k"}};
  if (problem.layout_b == iris::Layout::kn) contiguous.push_back(products.columns);
  for (const Dimension& columns : contiguous) {
    const iris::Extent length = extent_of(problem, columns);
    if (known_multiple(length) * iris::bytes_of(problem.dtype) % access_bytes == 0) continue;
    if (length.dynamic) return "rows of " + columns.extent + " elements may be no multiple of 16 bytes";
    return "rows of " + std::to_string(length.value) + " elements are no multiple of 16 bytes";
  }
  return "";
}

bool differs(const Request& request, const char* key, std::initializer_list<std::int64_t> values) {
  const auto wanted = request.wanted(key);
  return wanted && std::ranges::find(values, *wanted) == values.end();
}

std::string obstacle_of_warps(const Request& request) {
  if (differs(request, "threads", {256})) return "they take blocks of 256 threads";
  if (differs(request, "tile_m", {64, 128})) return "they take a tile_m of 64 or 128";
  if (differs(request, "tile_n", {64, 128})) return "they take a tile_n of 64 or 128";
  return "";
}

bool is_alone(const Products& products) {
  return products.count == 1 && !products.gathers_rows && !products.moves_by_blocks && !products.sends_beside &&
         !products.completes_tiles && products.parts == 1;
}

std::string alternatives(const Problem& problem, const Products& products, std::span<const Tiles> tiles,
                         bool (*holds)(const Problem&, const Products&, const Tiles&),
                         std::string (*text_of)(const Tiles&)) {
  std::vector<std::string> texts;
  for (const Tiles& each : tiles) {
    if (holds(problem, products, each)) texts.push_back(text_of(each));
  }
  std::string text = texts.front();
  for (std::size_t i = 1; i < texts.size(); ++i) text += (i + 1 < texts.size() ? ", " : " or ") + texts[i];
  return text;
}

double tile_us(const Target& target, const Tiles& tiles, double k, double share_of_rate, double between_us) {
  const double flops = 2.0 * static_cast<double>(tiles.m * tiles.n) * k;
  return flops / (target.matrix_burst_tflops / target.compute_units * share_of_rate) / 1e6 + between_us;
}

}  // namespace irisgen
