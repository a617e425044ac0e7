#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/planning.hpp"

/// The low_latency variants of all collectives: elements travel in lines that carry their own flags (device/lines.hpp).
namespace irisgen {

/// Of elements in a line, which has as many bytes of marks.
inline constexpr std::int64_t line_bytes = 8;

/// What their kernels differ in, beside their template.
struct LineKernel {
  std::vector<Argument> arguments;
  std::optional<std::int64_t> run = {};  ///< of elements that must begin on an access boundary
  Types types = {};
  InPlace in_place = InPlace::no;
  int parts = 1;  ///< that the m · n elements come in, each of them a message of its own
};

/// Completes a kernel that has been started, and has the constants of its own.
Draft plan_lines(const Request& request, KernelPlan kernel, const LineKernel& lines);

/// Of a rank that sends a message of m · n elements to each peer, or one to all, and reads and writes so many times as
/// many bytes of its own memory.
std::vector<Work> work_of_lines(const Problem& problem, double memory_factor);

}  // namespace irisgen
