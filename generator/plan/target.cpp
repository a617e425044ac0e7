#include "irisgen/target.hpp"

#include <algorithm>
#include <array>

namespace irisgen {
namespace {

// Where the figures come from:
// - sm_90a: 8 × H200 on one NVLink 4 switch, our own readings: every GPU pushing to all others with plain 16-byte
// stores,
//   half a flag's round trip between two GPUs, a device-to-device copy (NVIDIA's H200 data sheet: 4800 GB/s). SMs and
//   FMA rate: that data sheet.
// - gfx942: AMD Instinct MI300X data sheet: 7 Infinity Fabric links of 64 GB/s each way, 5.3 TB/s, 304 CUs, 163.4
//   TFLOP/s FP32 vector (with packed FMA).
// - gfx950: AMD Instinct MI355X data sheet: 7 links of 76.8 GB/s each way, 8 TB/s, 256 CUs, 157.3 TFLOP/s FP32 vector.
// - gfx90a: one die of an MI250X (AMD CDNA 2 white paper; ROCm documentation "MI250 microarchitecture": 50 GB/s each
// way
//   per link), three links outwards. The links to the other die of the package come on top and are not counted, since
//   most peers lie outside.
// No vendor publishes the delay of a flag or of a launch: AMD's are assumed.
constexpr std::array<Target, 5> all_targets = {{
    {.name = "host",
     .platform = Platform::host,
     .description = "the CPU: every thread of every rank, in a seeded order",
     .wave = 1,
     .compute_units = 0,
     .max_threads = 1024,
     .link_gbs = 0,
     .memory_gbs = 0,
     .signal_us = 0,
     .launch_us = 0,
     .fma_tflops_f32 = 0,
     .measured = false},
    {.name = "gfx90a",
     .platform = Platform::amd,
     .description = "AMD Instinct MI210, MI250, MI250X (CDNA 2)",
     .wave = 64,
     .compute_units = 110,
     .max_threads = 1024,
     .link_gbs = 150,
     .memory_gbs = 1600,
     .signal_us = 1.5,
     .launch_us = 6,
     .fma_tflops_f32 = 23.9,
     .measured = false},
    {.name = "gfx942",
     .platform = Platform::amd,
     .description = "AMD Instinct MI300X, MI300A, MI325X (CDNA 3)",
     .wave = 64,
     .compute_units = 304,
     .max_threads = 1024,
     .link_gbs = 448,
     .memory_gbs = 5300,
     .signal_us = 1.5,
     .launch_us = 6,
     .fma_tflops_f32 = 163.4,
     .measured = false},
    {.name = "gfx950",
     .platform = Platform::amd,
     .description = "AMD Instinct MI350X, MI355X (CDNA 4)",
     .wave = 64,
     .compute_units = 256,
     .max_threads = 1024,
     .link_gbs = 537.6,
     .memory_gbs = 8000,
     .signal_us = 1.5,
     .launch_us = 6,
     .fma_tflops_f32 = 157.3,
     .measured = false},
    {.name = "sm_90a",
     .platform = Platform::nvidia,
     .description = "NVIDIA H100, H200 (Hopper)",
     .wave = 32,
     .compute_units = 132,
     .max_threads = 1024,
     .link_gbs = 336,
     .memory_gbs = 4300,
     .signal_us = 0.64,
     .launch_us = 3,
     .fma_tflops_f32 = 67,
     .measured = true},
}};

}  // namespace

std::span<const Target> targets() {
  return all_targets;
}

const Target* find_target(std::string_view name) {
  const auto* found = std::ranges::find(all_targets, name, &Target::name);
  return found == all_targets.end() ? nullptr : found;
}

std::string_view to_string(Platform platform) {
  switch (platform) {
    case Platform::host:
      return "host";
    case Platform::amd:
      return "amd";
    case Platform::nvidia:
      return "nvidia";
  }
  return "";
}

}  // namespace irisgen
