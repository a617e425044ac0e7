#include "generator/cli/measuring.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "generator/cli/machine.hpp"
#include "generator/cli/options.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "generator/language/join.hpp"
#include "generator/language/unicode.hpp"
#include "iris/bench.hpp"
#include "irisgen/plan.hpp"

namespace irisgen::cli {

const Target& measured_target(const std::string& name) {
  if (!name.empty()) {
    const Target& target = target_named(name);
    if (target.platform != Platform::host) return target;
    throw UsageError("times on the CPU say nothing about a GPU: only GPUs are measured; `irisgen run` runs it here");
  }
  const Machine machine = survey_machine();
  for (const Target& target : targets()) {
    if (target.platform != Platform::host && devices_of(machine, target) > 0) return target;
  }
  throw std::runtime_error("there is no GPU here to measure" +
                           (machine.gpus.missing.empty() ? "" : ": " + machine.gpus.missing));
}

std::string device_of(const Target& target) {
  if (target.platform == Platform::host) return "";
  const iris::DeviceSurvey survey = iris::survey_gpus();
  const auto is_one = [&](const iris::DeviceInfo& gpu) { return gpu.target == target.name; };
  const auto gpu = std::ranges::find_if(survey.gpus, is_one);
  return gpu == survey.gpus.end() ? "" : gpu->description;
}

void require_values(const Spec& spec, const Target& target) {
  Spec own = spec;
  std::erase_if(own.kernels, [](const KernelSpec& kernel) { return !kernel.user.has_value(); });
  for (KernelSpec& kernel : own.kernels) kernel.worlds.resize(1);  // the source is the same for all
  const Target* const targets[] = {&target};
  Report report = spec.report();
  for (const Plan& plan : plan_all(own, targets)) {
    for (const iris::Scalar& scalar : plan.scalars) {
      if (plan.values.contains(scalar.name)) continue;
      const UserKernel& user = plan.user.value();
      const auto said = std::ranges::find(user.arguments, scalar.name, &UserArgument::name);
      report.error(said == user.arguments.end() ? user.where_entry : said->where,
                   user.entry + " takes " + in_quotes(scalar.name) + " by value, and nothing says which; add " +
                       "arguments: {" + scalar.name + ": {value: 1}}, say");
    }
  }
  report.throw_if_any();
}

std::vector<std::int64_t> sizes_of(const std::string& text) {
  try {
    return iris::parse_sizes(text);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("--sizes: ") + error.what());
  }
}

std::string shown_size(std::int64_t bytes, const Extents& extents) {
  if (bytes > 0) return human_bytes(static_cast<double>(bytes));
  std::vector<std::string> lengths;
  for (const auto& [name, length] : extents) lengths.push_back(std::to_string(length));
  return join(lengths, "x");
}

nlohmann::ordered_json extents_json(const Extents& extents) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, length] : extents) json[name] = length;
  return json;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 1000 ? "%.0f" : "%.4g", value);
  return text;
}

}  // namespace irisgen::cli
