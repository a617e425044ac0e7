#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "irisgen/spec.hpp"
#include "irisgen/target.hpp"

namespace irisgen {

/// A measured choice: what a problem runs best with on some device.
struct TuningEntry {
  Problem problem = {};  ///< static; its op and root do not matter, since they take no time
  std::string target = {};
  std::string device = {};  ///< as it calls itself: "NVIDIA H200"
  std::string driver = {};  ///< "CUDA 13.0 (libcuda.so.1)"
  std::string variant = {};
  Settings config = {};                         ///< beside what the Plan chooses for this variant
  Settings constants = {};                      ///< of a kernel of the user's own, of its lists
  std::string spec_hash = {};                   ///< of a kernel of the user's own, the only one that this is about
  double time_us = 0;                           ///< median of a launch
  double untuned_us = 0;                        ///< of what is taken without a table, in the same run
  int measured = 0;                             ///< candidates that were measured
  std::map<std::string, double> times_us = {};  ///< of each variant that was measured, its fastest configuration's
  bool complete = true;                         ///< no candidate was left out for want of time
  std::string kernels = {};                     ///< digest of the sources that were measured: kernels_digest()
};

/// What a machine's links, memory and launches were measured to do, by as many ranks.
struct MachineRates {
  std::string target = {};
  std::string device = {};  ///< as in TuningEntry
  std::string driver = {};
  int world = 0;
  Rates rates = {};
};

/// Whether a kernel leaves its variant, if it has several, and config (but the bound of waits) to the Plan. Tables are
/// about such kernels alone: what is best under a condition says nothing about what is best without it, nor the other
/// way round.
bool is_left_to_plan(const KernelSpec& kernel);
/// Whether its times belong into a table: one that is left to the Plan and calls no function of the user's own, whose
/// time others do not take. Such a kernel is planned by the table all the same.
bool is_for_tables(const KernelSpec& kernel);
/// Whether its config alone is left to the Plan.
bool leaves_config_to_plan(const KernelSpec& kernel);

/// What `auto` asks before its own model.
struct TuningTable {
  std::vector<TuningEntry> entries;
  std::vector<MachineRates> machines = {};

  /// The entry of a static problem of the same kind (pattern, types, shard, layout, world) whose size is nearest, and
  /// no more than twice or less than half of it; of a pattern that multiplies, whose m is that near and whose n and k
  /// are the same. `device`: the one that it was measured on, or any of the target if that is empty. nullptr if there
  /// is none.
  const TuningEntry* find(const Problem& problem, const Target& target, std::string_view device) const;

  /// Whether there is an entry of a problem of that kind, which may be dynamic.
  bool has_kind(const Problem& problem, const Target& target, std::string_view device) const;

  /// The entry of that very problem on that device, or of that very kernel of the user's own; nullptr if there is none.
  const TuningEntry* find_measured(const Problem& problem, std::string_view target, std::string_view device,
                                   std::string_view spec_hash = {}) const;

  /// The entry of a kernel of the user's own whose untuned Plan has that hash: of its source and description as they
  /// are. `device` as above.
  const TuningEntry* find_own(std::string_view spec_hash, const Target& target, std::string_view device) const;

  /// The rates of that many ranks on that device, or any of the target if that is empty; nullptr if there are none.
  const MachineRates* find_rates(std::string_view target, std::string_view device, int world) const;

  /// Adds the entry; it takes the place of the one for that very problem and device.
  void set(TuningEntry entry);
  /// The same of as many ranks on that device.
  void set(MachineRates machine);
};

/// A table as schemas/tuning.json has it. `file` names the text in errors. Throws SpecError with every error of it.
TuningTable parse_tuning(const std::string& file, const std::string& text);

/// The same table as a text, an entry on a line.
std::string to_json(const TuningTable& table);

/// What comes with irisgen, measured by its makers.
const TuningTable& shipped_tuning();

/// Over the sources that kernels are made of: what was measured with others may be measured again.
std::string kernels_digest();

}  // namespace irisgen
