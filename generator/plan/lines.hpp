#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/planning.hpp"

/// The low_latency variants of all collectives: elements travel in lines that carry their own flags (device/lines.hpp).
namespace irisgen {

inline constexpr std::int64_t line_size = 16;        ///< bytes, elements and marks
inline constexpr std::int64_t line_bytes = 8;        ///< of elements, half of them beside each of two marks
inline constexpr std::int64_t wide_line_bytes = 12;  ///< before one mark, where 16 bytes are written as a whole

/// Adds the constant `line`, of lines of so many bytes of elements.
void add_line(KernelPlan& kernel, std::int64_t bytes, Dtype dtype);

/// What their kernels differ in, beside their template.
struct LineKernel {
  std::vector<Argument> arguments;
  std::optional<std::int64_t> run = {};  ///< of elements that must begin on an access boundary
  Types types = {};
  InPlace in_place = InPlace::no;
  int parts = 1;      ///< that the m · n elements come in, each of them a message of its own
  int mailboxes = 1;  ///< in which such messages arrive, one behind another
};

/// Completes a kernel that has been started, and has the constants of its own. Lines hold 12 bytes of elements where
/// much is sent and the target can, else 8: accesses to memory are narrower then, by which short messages lose more.
Draft plan_lines(const Request& request, KernelPlan kernel, const LineKernel& lines);

/// Bytes on the way for each byte of elements.
double line_factor(const Problem& problem, const Draft& draft);

/// Of a rank that sends a message of m · n elements to each peer, or one to all, and has so many in its own memory
/// that are read or written: in lines, and without.
std::vector<Work> work_of_lines(const Problem& problem, const Draft& draft, double in_lines, double plain);

}  // namespace irisgen
