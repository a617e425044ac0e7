#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "irisgen/pattern.hpp"
#include "irisgen/plan.hpp"
#include "irisgen/spec.hpp"
#include "irisgen/tuning.hpp"

/// Kernels of the language, for tests that go through every pattern.
namespace iris::test {

/// What a user chooses an algorithm by.
struct Algorithm {
  std::string pattern;
  std::string variant;
  std::string shard = {};

  std::string name() const { return pattern + "_" + variant + (shard.empty() ? "" : "_by_" + shard); }
};

/// For test reports.
inline std::ostream& operator<<(std::ostream& out, const Algorithm& algorithm) {
  return out << algorithm.name();
}

inline const irisgen::PatternKeys& keys_of(const Algorithm& algorithm) {
  return irisgen::keys_of(algorithm.pattern);
}

inline bool is_matmul(const Algorithm& algorithm) {
  return keys_of(algorithm).extents.size() == 3;
}

/// Whether what multiplies is a kernel of another algorithm, with kernels of others before or after it.
inline bool multiplies_by_another(const Algorithm& algorithm) {
  return algorithm.variant == "bulk_synchronous" || algorithm.variant == "padded";
}

/// Every variant of every pattern, by every shard that it can do.
inline std::vector<Algorithm> every_algorithm() {
  std::vector<Algorithm> all;
  for (const irisgen::Pattern* pattern : irisgen::patterns()) {
    const auto& shards = irisgen::keys_of(pattern->name).shards;
    for (const irisgen::Variant& variant : pattern->variants) {
      const Algorithm algorithm = {std::string(pattern->name), std::string(variant.name)};
      if (shards.empty()) all.push_back(algorithm);
      for (const std::string& shard : shards) {
        const Problem problem = {.pattern = algorithm.pattern, .shard = shard};
        const bool refused = variant.refusal && !variant.refusal(problem, *irisgen::find_target("host")).empty();
        if (!refused) all.push_back({algorithm.pattern, algorithm.variant, shard});
      }
    }
  }
  return all;
}

/// Of B; of patterns that do not multiply one entry that is not written.
inline std::vector<std::string> layouts_of(const Algorithm& algorithm) {
  if (!keys_of(algorithm).takes_layout) return {""};
  return {"kn", "nk"};
}

/// Its row in the table of variants; null for auto.
inline const irisgen::Variant* row_of(const Algorithm& algorithm) {
  const auto& variants = irisgen::find_pattern(algorithm.pattern)->variants;
  const auto row = std::ranges::find(variants, std::string_view(algorithm.variant), &irisgen::Variant::name);
  return row == variants.end() ? nullptr : &*row;
}

/// What a reduction may be done by; of other patterns one entry that is not written.
inline std::vector<std::string> ops_of(const Algorithm& algorithm) {
  if (!keys_of(algorithm).takes_op) return {""};
  if (algorithm.variant == "atomic") return {"sum"};
  return {"sum", "max", "min", "prod"};
}

inline std::vector<const char*> dtypes_of(const Algorithm& algorithm) {
  if (algorithm.variant == "atomic") return {"f32", "f64", "i32"};
  std::vector<const char*> dtypes = {"f32", "bf16", "f64", "i32", "f16"};
  if (is_matmul(algorithm)) dtypes.insert(dtypes.end(), {"tf32", "e4m3"});
  return dtypes;
}

/// The first of these types that it takes.
inline std::string dtype_of(const Algorithm& algorithm, std::initializer_list<std::string_view> wanted) {
  const auto taken = dtypes_of(algorithm);
  const auto found = std::ranges::find_if(
      wanted, [&](std::string_view dtype) { return std::ranges::find(taken, dtype) != taken.end(); });
  return std::string(*found);
}

/// One kernel as a user would write it.
struct Sample {
  Algorithm algorithm;
  int world = 1;
  std::string dtype = "f32";
  std::string op = {};      ///< empty: as irisgen chooses
  std::string layout = {};  ///< of B; empty: the default
  Extents extents = {};     ///< every extent of the pattern; absent: dynamic
  std::string config = {};  ///< "blocks: 3, threads: 32"; empty: as irisgen plans

  std::string text() const {
    const irisgen::PatternKeys& keys = keys_of(algorithm);
    std::string text = "irisgen: 1\nkernels:\n  - {name: sample, pattern: " + algorithm.pattern +
                       ", variant: " + algorithm.variant + ", dtype: " + dtype + ", world: " + std::to_string(world);
    if (!op.empty()) text += ", op: " + op;
    if (!algorithm.shard.empty()) text += ", shard: " + algorithm.shard;
    if (!layout.empty()) text += ", layout: {b: " + layout + "}";
    if (keys.takes_root) text += ", root: " + std::to_string(world / 2);
    std::string shape;
    for (const std::string& name : keys.extents) {
      const auto length = extents.find(name);
      shape += (shape.empty() ? "" : ", ") + name + ": " + (length ? std::to_string(*length) : "dynamic");
    }
    text += ", shape: {" + shape + "}";
    if (!config.empty()) text += ", config: {" + config + "}";
    return text + "}\n";
  }
};

inline irisgen::Plan plan_of(const Sample& sample, std::string_view target, const irisgen::PlanOptions& options = {}) {
  const irisgen::Spec spec = irisgen::parse_spec("sample.yaml", sample.text());
  return irisgen::make_plan(spec.kernels.front(), sample.world, *irisgen::find_target(target), options);
}

/// What a tuning table has of a problem whose dynamic extents have these lengths.
inline irisgen::TuningEntry tuning_entry(const irisgen::Problem& problem, const Extents& lengths,
                                         std::string_view target, std::string_view variant,
                                         irisgen::Settings config = {}) {
  irisgen::TuningEntry entry{.problem = problem.at(lengths), .target = std::string(target)};
  entry.variant = variant;
  entry.config = std::move(config);
  return entry;
}

/// Whether `config:` of the algorithm's variant has that key; that of auto has none.
inline bool has_key(const Algorithm& algorithm, std::string_view key) {
  const irisgen::Variant* row = row_of(algorithm);
  return row && std::ranges::find(row->keys, key) != row->keys.end();
}

/// As far as the algorithm understands its keys: few blocks, so that all ranks of one device are resident together, but
/// more than one, so that blocks must agree; few threads, to be quick.
inline std::string small_grid(const Algorithm& algorithm, int threads) {
  std::string config;
  const auto add = [&](std::string_view key, int value) {
    if (!has_key(algorithm, key)) return;
    config.append(config.empty() ? "" : ", ").append(key).append(": ").append(std::to_string(value));
  };
  add("blocks", is_matmul(algorithm) ? 6 : 3);
  add("comm_blocks", 2);
  add("portions", 3);
  if (algorithm.variant != "padded") add("parts", 3);  // of a short k matrix units have one slice, which is one part
  if (!is_matmul(algorithm)) add("threads", threads);
  return config;
}

/// Extents of a product whose rows, or whose columns if the pattern divides those, are so many for each rank: a
/// multiple of the world by definition. padded is refused where rows are whole cache lines, or have nothing in them.
inline Extents matmul_extents(const Algorithm& algorithm, int world, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t shortest_line = 16;  // of f64
  if (algorithm.variant == "padded" && k % shortest_line == 0) ++k;
  if (algorithm.shard == "n") return {{"m", m}, {"n", n * world}, {"k", k}};
  return {{"m", m * world}, {"n", n}, {"k", k}};
}

/// Those of a collective that are closest to m × n among those that the algorithm can do: one row of shards for copy
/// engines that exchange them, columns that divide among the ranks.
inline Extents collective_extents(const Algorithm& algorithm, int world, std::int64_t m, std::int64_t n) {
  if (algorithm.name() == "all_to_all_copy_engine") m = 1;
  if (algorithm.variant == "reduce_scatter_all_gather") n = (n + world - 1) / world * world;
  return {{"m", m}, {"n", n}};
}

/// Of these extents the ones that must be known when the algorithm is planned, so that it knows that it can do them.
inline Extents known_extents(const Algorithm& algorithm, const Extents& extents) {
  if (algorithm.name() == "all_to_all_copy_engine") return {{"m", extents.at("m")}};
  if (algorithm.variant == "reduce_scatter_all_gather") return {{"n", extents.at("n")}};
  if (algorithm.name() == "matmul_all_reduce_producer_consumer") return {{"m", extents.at("m")}};
  return {};
}

/// Sizes that no vector width, block or world divides, and the degenerate ones.
inline std::vector<Extents> awkward_extents(const Algorithm& algorithm, int world) {
  std::vector<Extents> all;
  if (!is_matmul(algorithm)) {
    for (const auto& [m, n] : {std::pair{1, 0}, {1, 1}, {1, 3}, {1, 17}, {5, 51}, {1, 1000}, {1, 4099}}) {
      all.push_back(collective_extents(algorithm, world, m, n));
    }
    return all;
  }
  for (const auto& [m, n, k] : std::initializer_list<std::array<std::int64_t, 3>>{
           {0, 3, 5}, {1, 1, 1}, {3, 17, 0}, {5, 0, 4}, {37, 29, 19}, {16, 70, 33}}) {
    all.push_back(matmul_extents(algorithm, world, m, n, k));
  }
  return all;
}

/// Products that the matrix units of sm_90a take: types of 16 bits, tf32 and e4m3 with rows of whole 16 bytes, f64 with
/// any; and of f32 each tile that its multiply-adds take there. Both layouts of B, tiles that stick out on both sides,
/// tiles in several turns, few rows, slices that do not fill the ring of stages. Grids of so few blocks that ranks can
/// share a GPU.
inline std::vector<Sample> matrix_unit_samples(const Algorithm& algorithm, int world) {
  std::vector<Sample> all;
  const bool has_roles = has_key(algorithm, "comm_blocks");
  const std::string portions = has_key(algorithm, "portions") ? ", portions: 2" : "";
  const auto parts = [&](std::int64_t slices) {
    return has_key(algorithm, "parts") ? ", parts: " + std::to_string(std::min<std::int64_t>(3, slices)) : "";
  };
  const std::string few = (has_roles ? "blocks: 10, comm_blocks: 3" : "blocks: 10") + portions;
  const std::string many = (has_roles ? "blocks: 36, comm_blocks: 17" : "blocks: 36") + portions;
  struct Shape {
    const char* layout;
    std::int64_t m, n, k, tile_n;
    bool has_many_blocks = false;
    const char* dtype = "";
    std::int64_t tile_m = 0;  ///< 0: the Plan's
  };
  for (const auto& [layout, m, n, k, tile_n, has_many_blocks, dtype, tile_m] :
       {Shape{"kn", 1, 8, 8, 64},
        Shape{"kn", 128, 256, 64, 256},
        Shape{"nk", 129, 264, 328, 96},
        Shape{"kn", 300, 520, 72, 128},
        Shape{"nk", 40, 1000, 1032, 192},
        Shape{"nk", 131, 99, 136, 160},
        Shape{"nk", 300, 520, 136, 224},
        Shape{"nk", 700, 264, 200, 64, true},
        Shape{"kn", 70, 1032, 1000, 256},
        Shape{"nk", 131, 264, 332, 128},
        Shape{"kn", 131, 330, 330, 64},
        Shape{"nk", 300, 264, 132, 128, false, "tf32"},
        Shape{"nk", 40, 99, 1036, 96, false, "tf32"},
        Shape{"kn", 300, 264, 131, 128, false, "f64"},
        Shape{"kn", 131, 99, 258, 64, false, "f64"},
        Shape{"nk", 131, 99, 258, 128, false, "f64"},
        Shape{"nk", 40, 200, 133, 64, true, "f64"},
        Shape{"nk", 300, 264, 336, 96, false, "e4m3"},
        Shape{"nk", 40, 99, 2064, 64, false, "e4m3"},
        Shape{"nk", 300, 520, 336, 192, false, "e4m3"},
        Shape{"nk", 131, 330, 656, 160, false, "e4m3"},
        Shape{"kn", 300, 264, 131, 128, false, "f32", 256},
        Shape{"nk", 131, 99, 258, 256, false, "f32", 128},
        Shape{"kn", 131, 99, 150, 128, false, "f32", 128},
        Shape{"nk", 40, 200, 133, 64, true, "f32", 64},
        Shape{"kn", 300, 261, 129, 64, false, "f32", 128},
        Shape{"nk", 70, 136, 1000, 128, false, "f32", 64},
        Shape{"kn", 13, 300, 131, 256, true, "f32", 16},
        Shape{"nk", 31, 520, 1000, 256, false, "f32", 32},
        Shape{"nk", 5, 264, 136, 128, false, "f32", 16}}) {
    // There is no room beside other work of f32, nor of 8-bit elements beside finished tiles that are gone through once
    // more.
    const bool finishes = algorithm.pattern != "matmul" && algorithm.pattern != "all_gather_matmul";
    if (std::string_view(dtype) == "f32" && tile_m * tile_n > 128 * 128 && algorithm.pattern != "matmul") continue;
    if (std::string_view(dtype) == "e4m3" && tile_n > 128 && finishes) continue;
    all.push_back({.algorithm = algorithm,
                   .world = world,
                   .dtype = *dtype != '\0'        ? dtype
                            : all.size() % 2 == 0 ? "bf16"
                                                  : "f16",
                   .layout = layout,
                   .extents = matmul_extents(algorithm, world, m, n, k),
                   .config = (has_many_blocks ? many : few) + parts((k + 63) / 64 / (*dtype != '\0' ? 2 : 1)) +
                             ", tile_n: " + std::to_string(tile_n) +
                             (tile_m == 0 ? "" : ", tile_m: " + std::to_string(tile_m))});
  }
  return all;
}

/// Products that AMD's matrix units take, of each tile: of all types of floats, with rows that are whole accesses,
/// with rows that are not, and with rows of a length that shows at launch.
inline std::vector<Sample> wave_mma_samples(const Algorithm& algorithm, int world) {
  // Where sizes are dynamic the Plan takes the middle tile: beside the largest, hiprtc 5 has two registers too few for
  // the sums of fused_sequential.
  const std::string dynamic = algorithm.variant == "fused_sequential" ? "" : "tile_m: 256, tile_n: 128";
  const Extents known = known_extents(algorithm, matmul_extents(algorithm, world, 1024, 2048, 1024));
  // Of which the last is the only short one.
  const std::string parts = has_key(algorithm, "parts") ? ", parts: 5" : "";
  return {{.algorithm = algorithm, .world = world, .dtype = "f16", .extents = known, .config = dynamic},
          {.algorithm = algorithm,
           .world = world,
           .dtype = "bf16",
           .extents = matmul_extents(algorithm, world, 1024, 2048, 1024),
           .config = "tile_m: 256, tile_n: 128"},
          {.algorithm = algorithm,
           .world = world,
           .dtype = "f16",
           .extents = matmul_extents(algorithm, world, 300, 520, 72),
           .config = "tile_m: 128, tile_n: 128"},
          {.algorithm = algorithm,
           .world = world,
           .dtype = "bf16",
           .extents = matmul_extents(algorithm, world, 37, 29, 19),
           .config = "tile_m: 128, tile_n: 64"},
          {.algorithm = algorithm,
           .world = world,
           .dtype = "f16",
           .layout = "nk",
           .extents = matmul_extents(algorithm, world, 1024, 2048, 1024),
           .config = "tile_m: 256, tile_n: 128"},
          {.algorithm = algorithm,
           .world = world,
           .dtype = "bf16",
           .layout = "nk",
           .extents = matmul_extents(algorithm, world, 37, 29, 19),
           .config = "tile_m: 128, tile_n: 64"},
          {.algorithm = algorithm, .world = world, .dtype = "f32", .extents = known},
          {.algorithm = algorithm,
           .world = world,
           .dtype = "f32",
           .extents = matmul_extents(algorithm, world, 1024, 2048, 1024),
           .config = "tile_m: 256, tile_n: 128" + parts},
          {.algorithm = algorithm,
           .world = world,
           .dtype = "tf32",
           .layout = "nk",
           .extents = matmul_extents(algorithm, world, 1024, 2048, 1024),
           .config = "tile_m: 256, tile_n: 128"},
          {.algorithm = algorithm,
           .world = world,
           .dtype = "tf32",
           .extents = matmul_extents(algorithm, world, 300, 520, 75),
           .config = "tile_m: 128, tile_n: 64"},
          {.algorithm = algorithm, .world = world, .dtype = "f64", .layout = "nk", .extents = known},
          {.algorithm = algorithm,
           .world = world,
           .dtype = "f64",
           .extents = matmul_extents(algorithm, world, 1024, 2048, 1024),
           .config = "tile_m: 128, tile_n: 128"},
          {.algorithm = algorithm,
           .world = world,
           .dtype = "e4m3",
           .layout = "nk",
           .extents = matmul_extents(algorithm, world, 300, 520, 330),
           .config = "tile_m: 128, tile_n: 64"}};
}

/// Whether matrices are to be run in full rather than thinned: IRISGEN_TEST_ALL=1.
inline bool test_all() {
  const char* all = std::getenv("IRISGEN_TEST_ALL");
  return all != nullptr && std::string(all) != "0";
}

/// Rows of a matrix of factors that have so many values each: all of them if test_all(), else enough that every pair of
/// values of any two factors occurs (greedily: always the row with the most pairs that have not occurred).
template <std::size_t factors>
std::vector<std::array<std::size_t, factors>> rows_of(const std::array<std::size_t, factors>& values) {
  using Row = std::array<std::size_t, factors>;
  std::vector<Row> all = {Row{}};
  for (std::size_t i = 0; i < factors; ++i) {
    const std::size_t before = all.size();
    for (std::size_t value = 1; value < values[i]; ++value) {
      for (std::size_t row = 0; row < before; ++row) {
        all.push_back(all[row]);
        all.back()[i] = value;
      }
    }
  }
  if (test_all()) return all;

  const std::size_t most_values = *std::ranges::max_element(values);
  std::vector<bool> seen(factors * factors * most_values * most_values);
  const auto for_each_pair = [most_values](const Row& row, const auto& visit) {
    for (std::size_t i = 0; i < factors; ++i) {
      for (std::size_t j = i + 1; j < factors; ++j) {
        visit(((i * factors + j) * most_values + row[i]) * most_values + row[j]);
      }
    }
  };
  std::vector<Row> rows;
  while (true) {
    const auto new_pairs = [&](const Row& row) {
      int count = 0;
      for_each_pair(row, [&](std::size_t pair) { count += seen[pair] ? 0 : 1; });
      return count;
    };
    const Row best = *std::ranges::max_element(all, {}, new_pairs);
    if (new_pairs(best) == 0) return rows;
    for_each_pair(best, [&](std::size_t pair) { seen[pair] = true; });
    rows.push_back(best);
  }
}

}  // namespace iris::test
