#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace irisgen {

enum class Platform { host, amd, nvidia };

/// What the Plan knows about a chip. Rates are per GPU and per direction; `measured` tells a reading of ours from a
/// vendor's figure.
struct Target {
  std::string_view name;  ///< as the user spells it: host, gfx942, sm_90a
  Platform platform;
  std::string_view description;
  int wave;               ///< threads that run in lockstep; 1 on host
  int compute_units;      ///< CUs or SMs; 0 on host
  int max_threads;        ///< per block
  double link_gbs;        ///< GB/s that one GPU can push to its peers together; 0: no prediction is made
  double memory_gbs;      ///< GB/s of device memory
  double signal_us;       ///< one-way delay of a flag between two GPUs
  double launch_us;       ///< an empty kernel, launched
  double fma_tflops_f32;  ///< plain FMA, no matrix units
  bool measured;
};

/// Every target, in the order `irisgen list` shows them.
std::span<const Target> targets();

/// nullptr if there is none of that name.
const Target* find_target(std::string_view name);

std::string_view to_string(Platform platform);

}  // namespace irisgen
