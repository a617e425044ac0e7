#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "irisgen/spec.hpp"
#include "irisgen/target.hpp"

namespace irisgen {

enum class Access { read, write };

/// A buffer that a kernel takes, per rank, in row-major order.
struct Argument {
  std::string name;  ///< input, output, a, b
  Access access;
  Dtype dtype;
  /// Extents by name and factor: all_gather's output is {world·m, n}. `factor` multiplies, `divisor` divides exactly.
  struct Dimension {
    char extent;  ///< 'm', 'n' or 'k'
    int factor = 1;
    int divisor = 1;
  };
  std::vector<Dimension> shape;
  bool symmetric;          ///< must lie on the symmetric heap, at the same offset on every rank
  int alignment;           ///< bytes, of the pointer
  bool root_only = false;  ///< only the root's content matters (broadcast's input)
};

/// Bytes of workspace: fixed + scale · product of the named extents (each dynamic). Static shapes use `fixed` alone.
struct WorkspaceSize {
  std::int64_t fixed = 0;
  std::int64_t scale = 0;
  std::string extents;  ///< "mn", "mk" …
};

/// One decision, for `irisgen explain`.
struct Choice {
  std::string name;
  std::string value;
  std::string reason;
};

/// What the Plan expects of a launch. Zero target rates (host) leave the times at 0 and say so in `basis`.
struct Prediction {
  std::int64_t link_bytes = 0;  ///< that the busiest rank sends over its links in a launch
  double floor_us = 0;          ///< the links' or memory's limit alone
  double time_us = 0;           ///< floor plus signals, launch and (fused) arithmetic
  std::string basis;            ///< which rates, measured or the vendor's
};

/// Every choice made. Nothing after it decides anything.
struct Plan {
  KernelSpec kernel;
  int world = 1;
  const Target* target = nullptr;

  std::string variant;        ///< never auto
  std::string template_path;  ///< below templates/: all_reduce/two_shot.hip
  std::string symbol;         ///< of the entry; carries the specialisation
  std::string stem;           ///< of the files: gradient_sum.w8.gfx942

  int blocks = 1;
  int threads = 1;
  int timeout_ms = 0;
  bool in_place = true;    ///< may the output alias the input
  std::int64_t flags = 0;  ///< 32-bit flags on the heap
  WorkspaceSize workspace;

  std::vector<Argument> arguments;
  /// Dynamic extents in the order of the entry's trailing i64 arguments.
  std::vector<char> dynamic_extents;
  /// What the template's markers become. The pattern adds its own; plan() adds the common ones.
  std::map<std::string, std::string> substitutions;

  std::vector<Choice> choices;
  Prediction prediction;
};

/// Makes every choice for one kernel, world and target. Pure. Throws SpecError for what cannot be planned (a config
/// that the target cannot run, say), with the place in the spec if `report` was parsed from one.
Plan make_plan(const KernelSpec& kernel, int world, const Target& target);

/// The extents of one argument in elements, for a launch with these m, n, k.
std::vector<std::int64_t> shape_of(const Argument& argument, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace irisgen
