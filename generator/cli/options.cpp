#include "generator/cli/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "generator/cli/program.hpp"
#include "iris/compiler.hpp"
#include "iris/source_reader.hpp"
#include "iris/tuning.hpp"

namespace irisgen::cli {

const Target& target_named(const std::string& name) {
  if (const Target* target = find_target(name)) return *target;
  std::vector<std::string_view> names;
  for (const Target& target : targets()) names.push_back(target.name);
  throw UsageError("unknown target '" + name + "'" + suggestion(name, names));
}

std::vector<const Target*> targets_named(const std::vector<std::string>& names) {
  std::vector<const Target*> chosen;
  for (const std::string& name : names) {
    const Target* target = &target_named(name);
    if (std::find(chosen.begin(), chosen.end(), target) == chosen.end()) chosen.push_back(target);
  }
  if (names.empty()) {
    for (const Target& target : targets()) chosen.push_back(&target);
  }
  return chosen;
}

void take_whole_number(CLI::Option* option, std::uint64_t least, std::uint64_t most) {
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  const auto problem_of = [=](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_decimal = problem == std::errc() && end == text.data() + text.size() && !text.starts_with("0");
    if ((is_decimal || text == "0") && value >= least && value <= most) return "";
    return "must be a whole number from " + range + ", not '" + text + "'";
  };
  option->check(problem_of, range);
}

void check_compiler(const std::string& name) {
  if (name.empty() || std::ranges::find(iris::compiler_names(), name) != iris::compiler_names().end()) return;
  throw UsageError("there is no compiler '" + name + "'" + suggestion(name, iris::compiler_names()));
}

void TuningOption::add_to(CLI::App& command) {
  command
      .add_option("--tuning", which_,
                  "What `variant: auto` asks first: auto (your measurements, then those that come with irisgen), "
                  "shipped, none, or a file that `irisgen tune` wrote")
      ->capture_default_str();
}

std::vector<std::filesystem::path> TuningOption::files() const {
  if (which_ == "shipped" || which_ == "none") return {};
  if (which_ != "auto") return {which_};
  const std::filesystem::path own = iris::user_tuning_file();
  std::error_code unreachable;
  if (own.empty() || !std::filesystem::exists(own, unreachable)) return {};
  return {own};
}

std::vector<TuningTable> TuningOption::tables() const {
  if (which_ == "auto") return iris::tuning_of_user();
  if (which_ == "shipped") return {shipped_tuning()};
  if (which_ == "none") return {};
  std::error_code unreachable;
  if (!std::filesystem::exists(which_, unreachable))
    throw UsageError("--tuning: there is no file " + which_ + "; `irisgen tune --table " + which_ + "` writes it");
  try {
    return {iris::read_tuning(which_)};
  } catch (const SpecError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw UsageError(std::string("--tuning: ") + error.what());
  }
}

void DeviceOption::add_to(CLI::App& command) {
  command.add_option(
      "--device", name_,
      "The GPU, as measurements call it ('NVIDIA H200'), whose measurements are asked (default: the nearest "
      "of any GPU of the target)");
}

const std::string& DeviceOption::known_to(std::span<const TuningTable> tables) const {
  std::vector<std::string_view> known;
  for (const TuningTable& table : tables) {
    for (const TuningEntry& entry : table.entries) known.emplace_back(entry.device);
    for (const MachineRates& machine : table.machines) known.emplace_back(machine.device);
  }
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  if (name_.empty() || std::ranges::binary_search(known, name_)) return name_;
  throw UsageError("--device: nothing was measured on '" + name_ + "'" + suggestion(name_, known) +
                   "; leave --device out and write --tuning none for what the model predicts");
}

Spec load_spec(const std::string& path, int world) {
  Overrides overrides;
  if (world != 0) overrides.world = world;
  try {
    Spec spec = read_spec(path, overrides);
    iris::attach_source_reader(spec);
    return spec;
  } catch (const SpecError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
}

Spec select(Spec spec, const std::string& kernel) {
  if (kernel.empty()) return spec;
  std::vector<std::string_view> names;
  names.reserve(spec.kernels.size());
  for (const KernelSpec& known : spec.kernels) names.emplace_back(known.name);
  const std::string hint = suggestion(kernel, names);
  const bool whole = !spec.find(kernel);
  std::erase_if(spec.kernels,
                [&](const KernelSpec& other) { return (whole ? other.written_name : other.name) != kernel; });
  if (!spec.kernels.empty()) return spec;
  throw UsageError(spec.file + " has no kernel '" + kernel + "'" + hint);
}

}  // namespace irisgen::cli
