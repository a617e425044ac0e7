#include "irisgen/target.hpp"

#include <algorithm>
#include <array>

namespace irisgen {
namespace {

// Where the figures come from:
// - sm_90a: H200s on one NVLink 4 switch, our own readings: every GPU pushing to all others with plain 16-byte stores,
//   the copy engine in permutations, a device-to-device copy (NVIDIA's H200 data sheet: 4800 GB/s); to one neighbour on
//   four H100s of such links, by the chain of a broadcast, whose blocks are twice as many. Launch, signal and line are
//   fitted to graphs of collectives of 4 KiB on four of them: 2.7 to 3.2 µs with lines, 4.2 with one signal, 4.9 to 5.8
//   with two, 8.5 with three; the copy engine's to all-gathers of 1 KiB: 28 µs on four, 25 on two. The main loop ran at
//   18 to 20 TFLOP/s; matrix units at 857 in products short of a turn's work, at 660 to 780 where the chip's power is
//   the limit.
// - gfx942: AMD Instinct MI300X data sheet: 7 Infinity Fabric links of 64 GB/s each way, 5.3 TB/s, 304 CUs, 163.4
//   TFLOP/s FP32 vector (with packed FMA), 1307.4 FP16 and BF16 matrix. Of a link's 64 GB/s about 48 can be used, the
//   rest being CRC and protocol: AMD's ROCm blog "Understanding RCCL Bandwidth and xGMI Performance on AMD Instinct
//   MI300X" (March 2025), rocm.blogs.amd.com/software-tools-optimization/mi300x-rccl-xgmi.
// - gfx950: AMD Instinct MI355X data sheet: 7 links of 76.8 GB/s each way, 8 TB/s, 256 CUs, 157.3 TFLOP/s FP32 vector,
//   2516.6 FP16 and BF16 matrix. What of a link can be used we have not found published.
// - gfx90a: one die of an MI250X (AMD CDNA 2 white paper; ROCm documentation "MI250 microarchitecture": 50 GB/s each
//   way per link, 23.9 TFLOP/s FP32 vector, 191.5 FP16 and BF16 matrix), three links outwards. The links to the other
//   die of the package come on top and are not counted, since most peers lie outside.
// Last caches: 50 MB of L2 (NVIDIA H100 architecture white paper; both cards), 256 MB of Infinity Cache (AMD CDNA 3 and
// CDNA 4 white papers), 8 MB of L2 on a die (CDNA 2).
// Speeds of matrix units for other types than 16 bits are those of the same data sheets, tf32 on gfx90a and gfx950
// being multiplied as f32; that of e4m3 is what sm_90a was measured at, where adding up the sums of stages takes its
// part of twice the rate, that of f64 its 67 TFLOP/s beside the 857 of 16 bits that were measured, and that of f32
// there multiply-adds' from stages in shared memory. No vendor publishes the delay of a signal or of a launch, or how
// fast our main loop runs: AMD's are assumed, the loop of multiply-adds at the share of the vector rate that it reaches
// on sm_90a, that of the matrix units at 40 % of theirs. The host's rates are a GPU's, to rank variants by.
constexpr std::array<Target, 5> all_targets = {{
    {.name = "host",
     .platform = Platform::host,
     .description = "the CPU: every thread of every rank, in a seeded order",
     .wave = 1,
     .compute_units = 1,
     .simds = 1,
     .max_threads = 1024,
     .max_blocks = 64,
     .max_world = 16,
     .shared_bytes = std::int64_t{1} << 20,
     .cache_bytes = std::int64_t{32} << 20,
     .threads = 32,
     .data_blocks = 4,  // few blocks show every interleaving that many do
     .f64_blocks_per_unit = 2,
     .most_in_access = 16,
     .wide_lines_from = 1024,
     .matrix_e4m3 = MatrixE4m3::none,
     .matrix_speeds = {.e4m3 = 0, .tf32 = 0, .f32 = 0, .f64 = 0},
     .rates = {.link_gbs = 336,
               .neighbour_gbs = 365,
               .memory_gbs = 4300,
               .copy_engine_gbs = 365,
               .copy_us = 5.5,
               .signal_us = 1.75,
               .line_us = 0.8,
               .launch_us = 2.0},
     .main_loop_tflops = 20,
     .matrix_tflops = 0,
     .matrix_burst_tflops = 0,
     .measured = false,
     .predicts = false},
    {.name = "gfx90a",
     .platform = Platform::amd,
     .description = "AMD Instinct MI210, MI250, MI250X (CDNA 2)",
     .wave = 64,
     .compute_units = 110,
     .simds = 4,
     .max_threads = 1024,
     .max_blocks = 65535,
     .max_world = 8,
     .shared_bytes = 64 << 10,
     .cache_bytes = 8 << 20,
     .threads = 512,
     .data_blocks = 64,
     .f64_blocks_per_unit = 2,
     .most_in_access = 8,
     .wide_lines_from = 0,
     .matrix_e4m3 = MatrixE4m3::none,
     .matrix_speeds = {.e4m3 = 0, .tf32 = 0.25, .f32 = 0.25, .f64 = 0.25},
     .rates = {.link_gbs = 150,
               .neighbour_gbs = 50,
               .memory_gbs = 1600,
               .copy_engine_gbs = 50,
               .copy_us = 5,
               .signal_us = 2.5,
               .line_us = 1,
               .launch_us = 6},
     .main_loop_tflops = 7,
     .matrix_tflops = 77,
     .matrix_burst_tflops = 77,
     .measured = false,
     .predicts = true},
    {.name = "gfx942",
     .platform = Platform::amd,
     .description = "AMD Instinct MI300X, MI300A, MI325X (CDNA 3)",
     .wave = 64,
     .compute_units = 304,
     .simds = 4,
     .max_threads = 1024,
     .max_blocks = 65535,
     .max_world = 8,
     .shared_bytes = 64 << 10,
     .cache_bytes = 256 << 20,
     .threads = 512,
     .data_blocks = 64,
     .f64_blocks_per_unit = 2,
     .most_in_access = 8,
     .wide_lines_from = 0,
     .matrix_e4m3 = MatrixE4m3::fnuz,
     .matrix_speeds = {.e4m3 = 1.7, .tf32 = 0.5, .f32 = 0.125, .f64 = 0.125},
     .rates = {.link_gbs = 336,
               .neighbour_gbs = 48,
               .memory_gbs = 5300,
               .copy_engine_gbs = 48,
               .copy_us = 5,
               .signal_us = 2.5,
               .line_us = 1,
               .launch_us = 6},
     .main_loop_tflops = 49,
     .matrix_tflops = 523,
     .matrix_burst_tflops = 523,
     .measured = false,
     .predicts = true},
    {.name = "gfx950",
     .platform = Platform::amd,
     .description = "AMD Instinct MI350X, MI355X (CDNA 4)",
     .wave = 64,
     .compute_units = 256,
     .simds = 4,
     .max_threads = 1024,
     .max_blocks = 65535,
     .max_world = 8,
     .shared_bytes = 64 << 10,
     .cache_bytes = 256 << 20,
     .threads = 512,
     .data_blocks = 64,
     .f64_blocks_per_unit = 2,
     .most_in_access = 16,
     .wide_lines_from = 0,
     .matrix_e4m3 = MatrixE4m3::ocp,
     .matrix_speeds = {.e4m3 = 1.7, .tf32 = 0.0625, .f32 = 0.0625, .f64 = 0.03125},
     .rates = {.link_gbs = 537.6,
               .neighbour_gbs = 76.8,
               .memory_gbs = 8000,
               .copy_engine_gbs = 76.8,
               .copy_us = 5,
               .signal_us = 2.5,
               .line_us = 1,
               .launch_us = 6},
     .main_loop_tflops = 47,
     .matrix_tflops = 1007,
     .matrix_burst_tflops = 1007,
     .measured = false,
     .predicts = true},
    {.name = "sm_90a",
     .platform = Platform::nvidia,
     .description = "NVIDIA H100, H200 (Hopper)",
     .wave = 32,
     .compute_units = 132,
     .simds = 1,
     .max_threads = 1024,
     .max_blocks = 65535,
     .max_world = 8,
     .shared_bytes = 227 << 10,
     .cache_bytes = 50 << 20,
     .threads = 512,
     .data_blocks = 64,
     .f64_blocks_per_unit = 1,  // twice the registers, of which an SM has half as many as an AMD CU
     .most_in_access = 16,
     .wide_lines_from = std::int64_t{256} << 10,
     .matrix_e4m3 = MatrixE4m3::ocp,
     .matrix_speeds = {.e4m3 = 1.7, .tf32 = 0.5, .f32 = 0.0625, .f64 = 0.078},
     .rates = {.link_gbs = 336,
               .neighbour_gbs = 365,
               .memory_gbs = 4300,
               .copy_engine_gbs = 365,
               .copy_us = 5.5,
               .signal_us = 1.75,
               .line_us = 0.8,
               .launch_us = 2.0},
     .main_loop_tflops = 20,
     .matrix_tflops = 780,
     .matrix_burst_tflops = 857,
     .measured = true,
     .predicts = true},
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
