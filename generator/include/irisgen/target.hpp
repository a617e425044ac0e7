#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace irisgen {

enum class Platform { host, amd, nvidia };

/// What times are predicted from, but for products. Per GPU and per direction, in 10⁹ bytes per second or microseconds.
struct Rates {
  double link_gbs;       ///< that one GPU can push to all its peers together
  double neighbour_gbs;  ///< that it can push to one of them
  double memory_gbs;
  double copy_engine_gbs;  ///< that the copy engine moves to one peer after another
  double copy_us;          ///< of one more copy
  double signal_us;        ///< from the last store of one rank to the first load of another: fences, flag, poll
  double line_us;          ///< the same for data that carries its own flag
  double launch_us;        ///< an empty kernel, launched behind another

  friend bool operator==(const Rates&, const Rates&) = default;
};

/// One of them, as people and tuning tables call it.
struct RateField {
  std::string_view name;
  double Rates::* value;
};
inline constexpr std::array<RateField, 8> rate_fields = {{{"link_gbs", &Rates::link_gbs},
                                                          {"neighbour_gbs", &Rates::neighbour_gbs},
                                                          {"memory_gbs", &Rates::memory_gbs},
                                                          {"copy_engine_gbs", &Rates::copy_engine_gbs},
                                                          {"copy_us", &Rates::copy_us},
                                                          {"signal_us", &Rates::signal_us},
                                                          {"line_us", &Rates::line_us},
                                                          {"launch_us", &Rates::launch_us}}};

/// The 8-bit floats that matrix units take: none, the OCP's E4M3, or E4M3 FNUZ, which has a bias of its own.
enum class MatrixE4m3 { none, ocp, fnuz };

/// How fast matrix units multiply, as multiples of their rate for operands of 16 bits; 0 where they do not take a type.
/// Where they would round f32, that is its multiply-adds' speed, fed as they are.
struct MatrixSpeeds {
  double e4m3;
  double tf32;
  double f32;
  double f64;
};

/// What the Plan knows about a chip. Rates are per GPU and per direction, in 10⁹ bytes or 10¹² operations per second.
struct Target {
  std::string_view name;  ///< as the user spells it: host, gfx942, sm_90a
  Platform platform;
  std::string_view description;

  int wave;           ///< threads that run in lockstep; 1 on host
  int compute_units;  ///< CUs or SMs; 1 on host
  int simds;          ///< schedulers of a compute unit among which waves are divided, where launch bounds count by them
  int max_threads;    ///< per block
  int max_blocks;     ///< of a grid; on host, what the engine's stacks leave memory for
  int max_world;      ///< ranks that can address one another
  std::int64_t shared_bytes;  ///< per block, that a kernel can declare
  std::int64_t cache_bytes;   ///< of the last cache before memory

  int threads;              ///< of a block that moves data: enough to hide the latency of memory
  int data_blocks;          ///< of such threads, that keep the links busy
  int f64_blocks_per_unit;  ///< of the matmul's main loop with sums in f64; 2 of other sums
  int most_in_access;       ///< elements of a thread's access; hiprtc 5 keeps no more than 8 in registers
  std::int64_t
      wide_lines_from;  ///< bytes that a rank sends, where 16 are written as a whole (device/lines.hpp); 0: never
  MatrixE4m3 matrix_e4m3;
  MatrixSpeeds matrix_speeds;

  Rates rates;
  double main_loop_tflops;     ///< of the matmul's main loop of fused multiply-adds, in f32
  double matrix_tflops;        ///< of that on matrix units, with operands of 16 bits, on and on; 0 if there is none
  double matrix_burst_tflops;  ///< the same while power is not the limit
  bool measured;               ///< by us, rather than a vendor's figure
  bool predicts;               ///< times mean something; else they only rank variants, as a GPU would
};

/// Every target, in the order `irisgen list` shows them.
std::span<const Target> targets();

/// nullptr if there is none of that name.
const Target* find_target(std::string_view name);

std::string_view to_string(Platform platform);

}  // namespace irisgen
