#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "iris/manifest.hpp"
#include "irisgen/source_reader.hpp"
#include "irisgen/spec.hpp"
#include "irisgen/target.hpp"
#include "irisgen/tuning.hpp"

namespace irisgen {

/// How a kernel multiplies: device/main_loop/.
enum class MainLoop { fma, fma_staged, mfma, mma, mma_packed, wgmma };

/// What a function of the user's own is in a pattern.
enum class FunctionRole { operation, prologue, epilogue };
/// `operation`, `prologue`, `epilogue`.
std::string_view to_string(FunctionRole role);
/// Of the struct that calls it in an emitted file: `EpilogueFunction`.
std::string_view struct_name(FunctionRole role);

/// Whether two neighbours of a row have different elements of a buffer, which lie side by side.
constexpr bool differs_in_pairs(Per per) {
  return per == Per::column || per == Per::element;
}

/// A function of the user's own, read.
struct FunctionPlan {
  FunctionRole role = FunctionRole::epilogue;
  KernelSource source = {};
  std::vector<iris::Argument> arguments = {};  ///< of the operation: its buffers, in the order of its parameters
  std::vector<Per> per = {};                   ///< of each what it has one element for
  bool pairs = false;                          ///< an epilogue of two neighbours of a row at a time
};

/// One constant of a kernel's Config, said once: the emitted struct, `irisgen explain` and the manifest are made from
/// it.
struct Constant {
  std::string name;
  std::variant<std::int64_t, Dtype, Op, MainLoop, iris::Layout, FunctionRole> value;  ///< a number (i32) or a type
  std::string unit;          ///< what the number counts, where its name does not say
  std::string reason;        ///< why this value; empty where the description or the chip says so
  std::string setting = {};  ///< the key of `config:` that sets it; empty: none does

  /// As the kernel has it: `4`, `bf16`, `Sum`.
  std::string text() const;
};

/// One kernel of an operation: a template and what goes with it.
struct KernelPlan {
  std::string part;  ///< its name within the operation; empty for the only kernel
  Problem problem;   ///< what this kernel computes: the types and extents of its template
  std::string variant;
  std::string template_path;  ///< below templates/: all_reduce/two_shot.hip; empty where there is a source
  std::shared_ptr<const KernelSource> source = {};  ///< of a user's kernel
  std::vector<FunctionPlan> functions = {};         ///< of the user's own, that it calls
  std::string symbol;                               ///< of the entry; carries the specialisation
  std::string stem;                                 ///< of its files: gradient_sum.w8.gfx942
  std::vector<Constant> constants;                  ///< in the order of the emitted Config
  std::vector<iris::Argument> arguments;            ///< buffers of the entry, in its order
  std::string launch_number = {};                   ///< what it calls a number, behind its extents, that tells one of
                                                    ///< an operation's launches of it from another; empty: none
  bool waits = true;                                ///< its blocks wait for others', so that all must be resident
  bool waits_for_ranks = true;                      ///< for those of other ranks
  bool dependent_launch = false;                    ///< it waits itself for what its stream has before it
  bool lets_next_begin = false;                     ///< while it runs, if that one does so
  std::int64_t flags = 0;                           ///< 64-bit flags on the heap
  iris::ByteSize workspace;                         ///< both ping-pong buffers
  std::vector<iris::MatrixMap> maps;                ///< of buffers of the entry, by its own extents; in its order
  std::optional<iris::TileCount> tiles;             ///< LaunchStep::tiles, by its own extents

  /// Throws std::logic_error if there is no number of that name.
  std::int64_t number(std::string_view constant) const;
  bool has(std::string_view constant) const;
  /// Nothing if it multiplies no matrices.
  std::optional<MainLoop> main_loop() const;
  /// Whether it computes its results, rather than moving them: its template has an Output.
  bool has_output() const;
};

/// One decision about the operation as a whole, for `irisgen explain`.
struct Choice {
  std::string name;
  std::string value;
  std::string reason;
};

/// What the Plan expects of a launch. Times are 0 where the target's rates mean nothing (host) or a size is not known.
struct Prediction {
  std::int64_t link_bytes = 0;  ///< that the busiest rank sends over its links in a launch
  double floor_us = 0;          ///< the links', the memory's or the arithmetic's limit alone
  double time_us = 0;           ///< floor plus signals and launches
  std::string basis;            ///< which rates, measured or the vendor's
};

/// A variant beside the one that was chosen.
struct Alternative {
  std::string variant;
  std::string refusal = {};  ///< why it cannot do the problem; empty if it can
  double time_us = 0;        ///< predicted; 0 where nothing is
  double measured_us = 0;    ///< of its fastest configuration, by the tuning table; 0 where that has none
};

/// Every choice made. Nothing after it decides anything.
struct Plan {
  std::string name;
  Problem problem;
  const Target* target = nullptr;
  std::string variant;    ///< never auto
  std::string spec_hash;  ///< SHA-256 of canonical_json, hexadecimal
  std::string stem;       ///< of the manifest's file: gradient_sum.w8.gfx942
  int timeout_ms = 0;
  iris::InPlace in_place = iris::InPlace::no;
  bool deterministic = true;  ///< as its Variant is

  std::vector<iris::Argument> arguments;
  std::vector<iris::Scalar> scalars;
  iris::Scalars values;  ///< of scalars, that the description gives
  std::vector<iris::Intermediate> intermediates;
  std::vector<KernelPlan> kernels;
  std::vector<iris::Schedule> schedules;

  std::vector<Choice> choices;
  std::vector<Alternative> alternatives;
  std::string measured_at;  ///< size and device of the alternatives' measurements; empty if there are none
  Prediction prediction;
  std::optional<UserKernel> user = {};  ///< what the description says of a kernel of the user's own
  UserFunctions functions = {};         ///< what it says of functions of the user's own
  std::vector<FunctionPlan> function_plans = {};
};

struct PlanOptions {
  std::span<const TuningTable> tuning = {};     ///< asked by `auto`, in this order, before the model
  std::string device = {};                      ///< that it is for, as the tables call it; empty: any of the target
  std::span<const std::string> templates = {};  ///< of which alone kernels of known extents are made; empty: any
};

/// Makes every choice for one kernel, world and target. Pure. Throws SpecError for what cannot be planned (a config
/// that the target cannot run, say), with its place in the spec.
Plan make_plan(const KernelSpec& kernel, int world, const Target& target, const PlanOptions& options = {});

/// What keeps a kernel from being planned, and for which targets.
struct Refusal {
  Diagnostic diagnostic;
  std::vector<const Target*> targets;
  bool everywhere = false;  ///< the kernel can be planned for none of those that were asked for

  /// `for gfx90a, gfx942: …`
  std::string message() const;
};

/// The plans of every kernel, for each of its worlds on each target, in the order of the description. What cannot be
/// planned is left out, and told in `refusals`.
std::vector<Plan> plan_all(const Spec& spec, std::span<const Target* const> targets, const PlanOptions& options,
                           std::vector<Refusal>& refusals);

/// The same. Throws SpecError with every refusal.
std::vector<Plan> plan_all(const Spec& spec, std::span<const Target* const> targets, const PlanOptions& options = {});

}  // namespace irisgen
