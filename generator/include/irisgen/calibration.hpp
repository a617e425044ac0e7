#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "irisgen/spec.hpp"
#include "irisgen/target.hpp"

/// How a machine's rates are found: kernels each of whose times hangs on one rate above all, and the rates by which the
/// model predicts the times that they took.
namespace irisgen {

/// A kernel of static shape and one variant, and the rate that its time tells.
struct Probe {
  RateField rate;
  KernelSpec kernel;
  int world;  ///< 1 where peers would only disturb
};

/// For a machine with `world` ranks, at least two. Throws std::invalid_argument for fewer, or more than a world has.
std::vector<Probe> calibration_probes(const Target& target, int world);

/// A probe and the median of its launches.
struct Reading {
  Probe probe;
  double time_us;
};

/// What the model predicts for a probe with these rates.
double predicted_us(const Probe& probe, const Target& target, const Rates& rates);

/// The rates with which the model predicts the readings: each such that the relative errors of its own probes cancel
/// out. Those without a probe stay the target's. Throws std::invalid_argument for a time that is not above 0.
Rates fit_rates(const Target& target, std::span<const Reading> readings);

}  // namespace irisgen
