#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "irisgen/pattern.hpp"

/// What the planning files of patterns/ share: rules, choices with their reasons, sizes and predictions.
namespace irisgen {

/// Rules of every pattern: the variant exists, and `config:` sets only what `used` lists (beside blocks, threads,
/// vector and timeout_ms, which all patterns use).
void check_variant_and_config(const KernelSpec& kernel, Report& report,
                              std::initializer_list<std::string_view> used = {});

/// Throws SpecError: what cannot be planned for this target, at the kernel's `config:` (or the kernel itself).
[[noreturn]] void refuse(const Plan& plan, const std::string& message);

/// Why a value was taken: `fallback`, unless the user set it.
std::string reason_for(const std::optional<int>& chosen, std::string fallback);

/// Records a value: a choice for `irisgen explain`, and what the template's marker of that name becomes.
void decide(Plan& plan, const std::string& name, std::int64_t value, std::string reason);

/// The first variant, or the one that the user asked for.
const Variant& variant_of(const KernelSpec& kernel);
/// Sets variant and template path.
void use_variant(Plan& plan, const Variant& variant, std::string reason);

/// m·n elements; nothing if an extent is dynamic.
std::optional<std::int64_t> static_count(const KernelSpec& kernel);

/// Elements in one access: as many as 16 bytes hold of `widest` (the widest type that a thread reads or writes), fewer
/// where runs of `run` elements must begin on an access boundary. Decides `vector`.
int choose_vector(Plan& plan, Dtype widest, std::optional<std::int64_t> run = {});

/// Blocks and threads for a kernel whose ranks each handle `elements` (nothing: unknown until the launch) in accesses
/// of `vector`. Decides both.
void choose_grid(Plan& plan, std::optional<std::int64_t> elements, int vector);

/// Checks against the target: threads whole waves, within the block's limit; blocks resident together, as far as that
/// is known before compiling. Throws SpecError.
void check_grid(const Plan& plan);

/// Accesses in flight for one thread, of which each keeps `arrays` registers' worth of packs. Decides `unroll`.
void choose_unroll(Plan& plan, int arrays);

/// Decides `accumulate` and `op`.
void choose_reduction(Plan& plan);

/// Two halves of `parts` slots of product(extents)/`divisor` elements of `dtype` each, a slot rounded up to `granule`
/// elements.
struct Slots {
  int parts = 1;
  std::string_view extents = "mn";
  int divisor = 1;
  Dtype dtype = Dtype::f32;
  int granule = 1;
};
WorkspaceSize workspace_of(const Plan& plan, const Slots& slots);

/// What one launch moves and computes on the busiest rank.
struct Work {
  double link_bytes = 0;    ///< sent over the links
  double link_gbs = 0;      ///< rate of the links that are used; 0: Target::link_gbs
  double memory_bytes = 0;  ///< read from and written to the rank's own memory
  double flops = 0;         ///< f32 multiply-adds count two
  int signals = 0;          ///< one after another
};
/// Times from the target's rates. Zero times where it has none.
Prediction predict(const Target& target, const Work& work);
/// The prediction of a kernel whose size is not known before the launch.
Prediction no_prediction();

/// GB/s that a GPU can push to one neighbour alone.
double neighbour_gbs(const Target& target);

/// `12.3 µs`.
std::string microseconds(double value);

}  // namespace irisgen
