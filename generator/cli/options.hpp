#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iris/device/abi.hpp"
#include "irisgen/plan.hpp"
#include "irisgen/spec.hpp"
#include "irisgen/target.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
}  // namespace CLI

namespace irisgen::cli {

/// The target of that name. Throws UsageError with the nearest one.
const Target& target_named(const std::string& name);

/// Each name's target, without repetition; every target if there are no names.
std::vector<const Target*> targets_named(const std::vector<std::string>& names);

/// read_spec, with what reads kernels of the user's own, except that a file that cannot be read is a UsageError: the
/// command line named it. `world` (0: none) takes the place of what the specification says of every kernel's world; all
/// rules hold for it.
Spec load_spec(const std::string& path, int world = 0);

/// Has an option refuse what is not written as a whole number from `least` to `most`: CLI11's conversion takes 010 for
/// 8, wraps -1 to 2^64 - 1 and cuts larger ones.
void take_whole_number(CLI::Option* option, std::uint64_t least, std::uint64_t most);

/// Throws UsageError unless a compiler has that name, on whatever machine. Empty: any.
void check_compiler(const std::string& name);

/// Ranks that a world can have; what `--world` accepts.
inline constexpr int max_ranks = iris::device::max_world;

/// What `--seed` accepts.
inline constexpr std::uint64_t max_seed = std::numeric_limits<std::uint64_t>::max();

/// The specification cut down to what one entry of its kernels makes (empty: all), or to one of those where lists of
/// dtypes or shapes make several. Throws UsageError for an unknown name.
Spec select(Spec spec, const std::string& kernel);

/// What `variant: auto` asks before its model.
class TuningOption {
 public:
  /// `which`: what counts if the command line says nothing.
  explicit TuningOption(std::string which) : which_(std::move(which)) {}
  /// Adds --tuning to a subcommand.
  void add_to(CLI::App& command);
  /// Throws UsageError for a file that is not there, SpecError for a wrong one.
  std::vector<TuningTable> tables() const;
  /// Those that are read: what is made depends on them.
  std::vector<std::filesystem::path> files() const;

 private:
  std::string which_;
};

/// Which of a target's devices a plan is for, where no GPU of this machine says so.
class DeviceOption {
 public:
  /// Adds --device to a subcommand.
  void add_to(CLI::App& command);
  /// As the tables call it; empty: any of the target. Throws UsageError if they know no such one.
  const std::string& known_to(std::span<const TuningTable> tables) const;

 private:
  std::string name_;
};

/// What `SPEC` is, for the help of every subcommand that takes one.
inline constexpr const char* spec_help = "Specification, YAML or JSON; - for standard input";

}  // namespace irisgen::cli
