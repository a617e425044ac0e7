#include "irisgen/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "irisgen/plan.hpp"

namespace irisgen {
namespace {

/// Few bytes, so that a time is launches and signals; or so many that it is nothing else but bytes, and no cache holds
/// them. In bf16.
constexpr std::int64_t few = 512;
constexpr std::int64_t many = std::int64_t{1} << 27;

struct ProbeRow {
  double Rates::* rate;
  std::string_view pattern;
  std::string_view variant;
  bool alone;     ///< by one rank
  bool in_parts;  ///< elements are of all ranks together
  std::int64_t elements;
};

constexpr std::array<ProbeRow, 15> rows = {{
    {&Rates::launch_us, "all_gather", "direct", true, false, few},
    {&Rates::memory_gbs, "all_gather", "direct", true, false, many},
    {&Rates::line_us, "all_reduce", "low_latency", false, false, few},
    {&Rates::line_us, "all_gather", "low_latency", false, true, few},
    {&Rates::line_us, "all_to_all", "low_latency", false, true, few},
    {&Rates::signal_us, "all_reduce", "one_shot", false, false, few},
    {&Rates::signal_us, "all_reduce", "two_shot", false, false, few},
    {&Rates::signal_us, "all_gather", "direct", false, true, few},
    {&Rates::signal_us, "reduce_scatter", "direct", false, true, few},
    {&Rates::link_gbs, "all_gather", "direct", false, true, many},
    {&Rates::link_gbs, "all_to_all", "direct", false, true, many},
    {&Rates::link_gbs, "reduce_scatter", "direct", false, true, many},
    {&Rates::neighbour_gbs, "broadcast", "chain", false, false, many},
    {&Rates::copy_us, "all_gather", "copy_engine", false, true, few},
    {&Rates::copy_engine_gbs, "all_gather", "copy_engine", false, true, many},
}};

RateField field_of(double Rates::* rate) {
  for (const RateField& field : rate_fields) {
    if (field.value == rate) return field;
  }
  throw std::logic_error("a rate without a name");
}

bool is_per_second(const RateField& field) {
  return field.name.ends_with("_gbs");
}

/// Sum of the relative errors of a rate's own probes if it had that value, and the others those of `rates`.
double error_of(const RateField& field, double value, Rates rates, const Target& target,
                std::span<const Reading> readings) {
  rates.*field.value = value;
  double sum = 0;
  for (const Reading& reading : readings) {
    if (reading.probe.rate.value != field.value) continue;
    sum += predicted_us(reading.probe, target, rates) / reading.time_us - 1;
  }
  return sum;
}

/// Where the errors cancel out. Times fall with bytes per second and rise with microseconds, so halving finds it.
double solve(const RateField& field, const Rates& rates, const Target& target, std::span<const Reading> readings) {
  double slow = is_per_second(field) ? 1e-2 : 1e4;
  double fast = is_per_second(field) ? 1e6 : 1e-4;
  constexpr int halvings = 40;
  for (int i = 0; i < halvings; ++i) {
    const double middle = std::sqrt(slow * fast);
    (error_of(field, middle, rates, target, readings) > 0 ? slow : fast) = middle;
  }
  return std::sqrt(slow * fast);
}

}  // namespace

std::vector<Probe> calibration_probes(const Target& target, int world) {
  if (world < 2 || world > target.max_world) {
    throw std::invalid_argument("links are between ranks: calibrate with 2 to " + std::to_string(target.max_world) +
                                " of them, not " + std::to_string(world));
  }
  std::vector<Probe> probes;
  for (const ProbeRow& row : rows) {
    const int ranks = row.alone ? 1 : world;
    const std::int64_t n = row.in_parts ? (row.elements + ranks - 1) / ranks / 8 * 8 : row.elements;
    std::string text = "irisgen: 1\nkernels:\n  - {name: probe, dtype: bf16, pattern: ";
    text.append(row.pattern).append(", variant: ").append(row.variant);
    text += ", world: " + std::to_string(ranks) + ", shape: {n: " + std::to_string(n) + "}}\n";
    probes.push_back({field_of(row.rate), parse_spec("calibration", text).kernels.front(), ranks});
  }
  return probes;
}

double predicted_us(const Probe& probe, const Target& target, const Rates& rates) {
  Target with_rates = target;
  with_rates.rates = rates;
  return make_plan(probe.kernel, probe.world, with_rates).prediction.time_us;
}

Rates fit_rates(const Target& target, std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    if (reading.time_us > 0) continue;
    throw std::invalid_argument("a launch of " + reading.probe.kernel.problem.pattern + " cannot take no time");
  }
  Rates rates = target.rates;
  constexpr int rounds = 8;  // each probe tells a little of other rates, too
  for (int round = 0; round < rounds; ++round) {
    for (const RateField& field : rate_fields) {
      const auto is_its = [&](const Reading& reading) { return reading.probe.rate.value == field.value; };
      if (std::ranges::none_of(readings, is_its)) continue;
      rates.*field.value = solve(field, rates, target, readings);
    }
  }
  return rates;
}

}  // namespace irisgen
