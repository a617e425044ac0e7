#include "generator/cli/options.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "generator/cli/program.hpp"

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

std::string check_digits(const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  return digits ? "" : "must be a whole number that is not negative, not '" + text + "'";
}

Spec load_spec(const std::string& path, int world) {
  Overrides overrides;
  if (world != 0) overrides.world = world;
  try {
    return read_spec(path, overrides);
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
