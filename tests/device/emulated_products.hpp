#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "iris/device/main_loop.hpp"
#include "iris/device/platform/hopper.hpp"
#include "iris/manifest.hpp"
#include "runtime/host/address_sanitizer.hpp"
#include "runtime/host/scheduler.hpp"

/// Launches of products on the CPU, over what emulated/ stands for, and what their results must be.
namespace emulated_products {

using namespace iris::device;

struct Call {
  Context context;
  const void* a;
  const void* b;
  void* output;
  TensorMap a_map;
  TensorMap a_last_map;
  TensorMap b_map;
  const f32* scales;
  i64 m;
  i64 n;
  i64 k;
};

/// Whether the main loop reads boxes.
template <typename Config>
concept HasBoxes = requires { Config::box_rows; };

template <typename Config>
OperandMaps<Config> maps_of(const Call& call) {
  OperandMaps<Config> maps = {};
  if constexpr (HasBoxes<Config>) {
    maps.a = {&call.a_map, &call.a_last_map};
    maps.b = {&call.b_map};
  }
  if constexpr (Scales<typename Config::Element>::are_there) maps.scales = {call.scales, call.scales + 1};
  return maps;
}

/// The entry of the template that is included before it, in the namespace of its Config.
#define ENTRY                                                                                                      \
  inline void entry(void* const* arguments) {                                                                      \
    const Call& call = **static_cast<const Call* const*>(arguments[0]);                                            \
    kernel(call.context, static_cast<const Config::Element*>(call.a), static_cast<const Config::Element*>(call.b), \
           {static_cast<Config::Result*>(call.output), call.n}, maps_of<Config>(call), call.m, call.n, call.k);    \
  }

struct Extents {
  i64 m;
  i64 n;
  i64 k;
};

template <typename T>
std::vector<T> small_integers(i64 count, std::mt19937& random) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(std::max<i64>(1, count)));  // none lie somewhere, too
  values.resize(static_cast<std::size_t>(count));
  std::uniform_int_distribution<int> of(-2, 2);
  for (T& value : values) {
    const auto integer = static_cast<f32>(of(random));
    if constexpr (std::is_same_v<T, tf32>) {
      value.bits = std::bit_cast<u32>(integer) - (integer != 0 ? 1 : 0);  // which is rounded to it
    } else {
      value = convert<T>(integer);
    }
  }
  return values;
}

template <typename T>
TensorMap map_of(const std::vector<T>& matrix, i64 columns, i64 box_rows) {
  const auto row_bytes = static_cast<u64>(columns) * sizeof(T);
  return platform::emulated_map({.data = reinterpret_cast<const char*>(matrix.data()),
                                 .rows = matrix.size() / static_cast<std::size_t>(columns),
                                 .row_bytes = row_bytes,
                                 .box_rows = static_cast<u64>(box_rows),
                                 .element_bytes = sizeof(T)});
}

/// The product's pattern: which rank's A and B make a row of a rank's output, or whether all ranks' do.
enum class Pattern { alone, gathers_rows, gathers_products, scatters_sums, sums };

struct Source {
  i32 a;
  i32 b;
  i64 row;
};

template <typename Config>
struct Problem {
  static constexpr i32 world = Config::world;
  Pattern pattern;
  Extents extents;

  bool sums() const { return pattern == Pattern::scatters_sums || pattern == Pattern::sums; }
  i64 shard() const { return extents.m / world; }
  i64 rows_of_a() const { return pattern == Pattern::alone || sums() ? extents.m : shard(); }
  i64 rows_in_tiles() const { return pattern == Pattern::scatters_sums ? shard() : rows_of_a(); }
  i64 rows_of_output() const { return pattern == Pattern::scatters_sums ? shard() : extents.m; }
  Source source(i32 rank, i64 row) const {
    const auto from = static_cast<i32>(row / shard());
    switch (pattern) {
      case Pattern::gathers_rows:
        return {from, rank, row % shard()};
      case Pattern::gathers_products:
        return {from, from, row % shard()};
      case Pattern::scatters_sums:
        return {rank, rank, rank * shard() + row};
      default:
        return {rank, rank, row};
    }
  }
};

/// A rank's memory: what is symmetric in one piece.
template <typename Config>
struct Rank {
  using Element = typename Config::Element;
  using Result = typename Config::Result;
  static constexpr std::size_t flags_bytes = std::size_t{1} << 16;
  static constexpr std::size_t workspace_bytes = std::size_t{1} << 23;

  std::vector<Element> a;
  std::vector<Element> b;
  std::vector<LaunchCount> launches = std::vector<LaunchCount>(Config::blocks);
  std::vector<u64> heap;  // flags, workspace, output
  std::size_t results;
  Fault fault = {};
  Call call = {};

  explicit Rank(std::size_t of_results)
      : heap((flags_bytes + workspace_bytes + of_results * sizeof(Result)) / sizeof(u64) + 1), results(of_results) {}

  char* begin() { return reinterpret_cast<char*>(heap.data()); }
  char* workspace() { return begin() + flags_bytes; }
  Result* output() { return reinterpret_cast<Result*>(workspace() + workspace_bytes); }
};

/// Of these lengths of rows those that are tried: with AddressSanitizer, which takes ten times as long and looks for
/// what lies out of bounds, the odd ones.
inline std::vector<i64> lengths(std::vector<i64> all) {
  if (iris::host::under_address_sanitizer) std::erase_if(all, [](i64 length) { return length % 2 == 0; });
  return all;
}

/// Of 8-bit floats.
inline constexpr f32 scale_of_a = 0.5f;
inline constexpr f32 scale_of_b = 4.0f;

/// Element by element, from what is said of the pattern.
template <typename Config>
f32 expected_result(const Problem<Config>& problem, const std::vector<Rank<Config>>& ranks, i32 rank, i64 row,
                    i64 column) {
  const i64 n = problem.extents.n;
  const i64 k = problem.extents.k;
  const auto dot = [&](const Source& from) {
    f32 sum = 0;
    for (i64 i = 0; i < k; ++i) {
      const i64 of_b = Config::LayoutB::contiguous_along_k ? column * k + i : i * n + column;
      sum += convert<f32>(ranks[static_cast<std::size_t>(from.a)].a[static_cast<std::size_t>(from.row * k + i)]) *
             convert<f32>(ranks[static_cast<std::size_t>(from.b)].b[static_cast<std::size_t>(of_b)]);
    }
    return sum;
  };
  const Source from = problem.source(rank, row);
  f32 sum = dot(from);
  for (i32 other = 0; other < Config::world && problem.sums(); ++other) {
    if (other != rank) sum += dot({other, other, from.row});
  }
  if constexpr (Scales<typename Config::Element>::are_there) sum *= scale_of_a * scale_of_b;
  if constexpr (EpilogueOf<Config>::is_there) sum = typename Config::Epilogue()(sum, {row, column}, row * n + column);
  return convert<f32>(convert<typename Config::Result>(sum));
}

/// Launches `entry` twice on all ranks, with the flags and the workspace of the launch before, and compares all results
/// that `is_made` says are there.
template <typename Config>
void expect_product(
    iris::host::Entry entry, const Extents& extents, u32 seed, Pattern pattern = Pattern::alone,
    const std::function<bool(i64 row, i64 column)>& is_made = [](i64, i64) { return true; }) {
  SCOPED_TRACE(testing::Message() << extents.m << " × " << extents.n << " × " << extents.k << ", seed " << seed);
  using Element = typename Config::Element;
  using Result = typename Config::Result;
  constexpr bool along_k = Config::LayoutB::contiguous_along_k;
  const auto [m, n, k] = extents;
  const Problem<Config> problem = {pattern, extents};
  const i64 results = problem.rows_of_output() * n;
  iris_host_engine = &iris::host::Scheduler::table();

  std::mt19937 random(seed);
  const std::vector<f32> scales = {scale_of_a, scale_of_b};
  std::vector<Rank<Config>> ranks(Config::world, Rank<Config>(static_cast<std::size_t>(results)));
  // Rows that are gathered may come to lie where any others have been, NaNs among them.
  for (Rank<Config>& rank : ranks) {
    if (pattern == Pattern::gathers_rows) std::fill_n(rank.workspace(), Rank<Config>::workspace_bytes, '\xff');
  }
  for (int launch = 0; launch < 2; ++launch) {
    iris::host::Scheduler scheduler(seed);
    for (i32 index = 0; index < Config::world; ++index) {
      auto& rank = ranks[static_cast<std::size_t>(index)];
      rank.a = small_integers<Element>(problem.rows_of_a() * k, random);
      rank.b = small_integers<Element>(k * n, random);
      std::fill_n(rank.output(), results, convert<Result>(777.0f));
      rank.call = {.context = {},
                   .a = rank.a.data(),
                   .b = rank.b.data(),
                   .output = rank.output(),
                   .a_map = {},
                   .a_last_map = {},
                   .b_map = {},
                   .scales = scales.data(),
                   .m = m,
                   .n = n,
                   .k = k};
      if constexpr (HasBoxes<Config>) {
        rank.call.a_map = map_of(rank.a, k, Config::box_rows);
        rank.call.a_last_map = map_of(rank.a, k, iris::rows_of_last_box(Config::box_rows, problem.rows_in_tiles()));
        rank.call.b_map = along_k ? map_of(rank.b, k, Config::tile_n) : map_of(rank.b, n, Config::tile_k);
      }
      Context& context = rank.call.context;
      context.rank = index;
      context.world = Config::world;
      context.flags = reinterpret_cast<u64*>(rank.begin());
      context.launches = rank.launches.data();
      context.workspace = rank.workspace();
      context.workspace_bytes = Rank<Config>::workspace_bytes;
      context.fault = &rank.fault;
      for (i32 peer = 0; peer < Config::world; ++peer) {
        context.bases[0][peer] = ranks[static_cast<std::size_t>(peer)].begin();
      }
      const Call* const argument = &rank.call;
      const std::vector<iris::ArgumentBytes> arguments = {{&argument, sizeof(argument)}};
      scheduler.start(std::make_unique<iris::host::Grid>(
          "product", index, entry, iris::host::LaunchArguments(arguments), Config::blocks, Config::threads));
    }
    ASSERT_EQ(scheduler.run([](iris::host::Grid&) {}), iris::host::Scheduler::Outcome::idle);

    for (i32 index = 0; index < Config::world; ++index) {
      auto& rank = ranks[static_cast<std::size_t>(index)];
      EXPECT_EQ(rank.fault.raised, 0u);
      for (i64 i = 0; i < results; ++i) {
        if (!is_made(i / n, i % n)) continue;
        ASSERT_EQ(convert<f32>(rank.output()[i]), expected_result(problem, ranks, index, i / n, i % n))
            << "rank " << index << ", row " << i / n << ", column " << i % n << ", launch " << launch;
      }
    }
  }
}

}  // namespace emulated_products
