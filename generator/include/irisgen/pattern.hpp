#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iris/manifest.hpp"
#include "irisgen/spec.hpp"
#include "irisgen/target.hpp"

namespace irisgen {

struct Draft;
struct Request;
struct Work;

/// One algorithm of a pattern: a row that owns its planning. `auto`, tuning and `irisgen explain` walk the same rows
/// (plan/choose.hpp).
struct Variant {
  std::string_view name;
  std::string_view summary;                     ///< one line, for `irisgen list`
  std::span<const std::string_view> templates;  ///< of its own kernels, below templates/
  std::span<const std::string_view> keys;       ///< of `config:` that it understands, beside timeout_ms

  /// Whether all ranks get the same bits, those that the other variants give, in every launch. A variant that reduces
  /// in the order of arrival is taken only where the description names it.
  bool deterministic = true;

  /// Why it cannot do this problem on this target; empty if it can. Null: it always can.
  std::string (*refusal)(const Problem& problem, const Target& target) = nullptr;

  /// Every choice for this problem and target, but for what `config:` has settled. Throws SpecError for a config that
  /// cannot be.
  Draft (*plan)(const Request& request) = nullptr;

  /// What a launch of the draft does, one entry for each kernel or copy that follows another. The problem is static.
  /// Null: nobody knows.
  std::vector<Work> (*cost)(const Problem& problem, const Target& target, const Draft& draft) = nullptr;
};

/// One rank's values of one argument, row-major, in float64 (exact for every dtype of the language).
using Values = std::vector<double>;

/// What a correct run must produce: each element's value and how far a correctly rounded kernel may be from it.
struct Expectation {
  Values value;
  Values tolerance;  ///< absolute, per element; 0 where the result is exact
};

/// How nccl-tests counts a collective.
struct BusConvention {
  bool size_has_world;                         ///< the size is world · m · n elements rather than m · n
  double (*bus_over_algorithm)(double world);  ///< bus bandwidth over algorithm bandwidth (size / time)
};

/// A collective or fused operation: its mathematics, and the algorithms that do it. Adding one means a file in
/// plan/patterns/ with such a row, its templates, and a line in the table — see generator/README.md.
struct Pattern {
  std::string_view name;
  std::string_view summary;
  std::span<const Variant> variants;

  bool is_step = false;          ///< stands beside other patterns' kernels, which alone keys of `config:` speak of
  bool replicates = false;       ///< all ranks end with the same results, each computed by whichever rank
  bool rounds_partials = false;  ///< what the ranks' partial results travel in is the type of the result

  /// The buffers, inputs first. What depends on the algorithm (alignment, symmetry) is left to the Plan.
  std::vector<iris::Argument> (*arguments)(const Problem& problem) = nullptr;

  /// Rules that no schema can state: divisibility. Each broken one is reported at its place in the spec. Null: none.
  void (*check)(const KernelSpec& spec, const Problem& problem, Report& report) = nullptr;

  /// The output of every rank from the inputs of every rank, computed independently of any kernel. inputs[rank] holds
  /// the read arguments in order; the problem is static. Source of truth for `irisgen run` and the tests.
  std::vector<Expectation> (*reference)(const Problem& problem,
                                        const std::vector<std::vector<Values>>& inputs) = nullptr;

  const BusConvention* bus = nullptr;  ///< null: it has no one size

  /// What each rank multiplies in it, as a problem of the pattern matmul. Null: nothing.
  Problem (*product)(const Problem& problem) = nullptr;
};

/// Every pattern of the language, in the order `irisgen list` shows them.
std::span<const Pattern* const> patterns();

/// Of that name; user_pattern's too, whose row has no buffers, no reference and no cost, and those of steps, which have
/// no reference. nullptr if there is none.
const Pattern* find_pattern(std::string_view name);
/// Throws std::runtime_error naming it if there is none.
const Pattern& pattern_of(const Problem& problem);

/// The size of a problem as nccl-tests counts it, in bytes: the larger of a rank's input and output. 0 where the
/// pattern has no one size.
std::int64_t bus_size(const Problem& problem);

}  // namespace irisgen
