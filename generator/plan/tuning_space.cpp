#include "irisgen/tuning_space.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "irisgen/pattern.hpp"

namespace irisgen {
namespace {

using Choices = std::vector<std::pair<std::string, std::vector<int>>>;

/// Nothing if the variant cannot.
std::optional<TuningCandidate> plan(const KernelSpec& kernel, int world, const Target& target, std::string_view variant,
                                    const Settings& config, const Settings& constants,
                                    const PlanOptions& options = {}) {
  KernelSpec spec = kernel;
  spec.variant = variant;
  for (const auto& [key, setting] : config) spec.config[key] = setting;
  for (const auto& [name, setting] : constants) spec.user.value().constants[name] = {.value = setting.value};
  try {
    return TuningCandidate{.variant = std::string(variant),
                           .config = config,
                           .constants = constants,
                           .plan = make_plan(spec, world, target, options)};
  } catch (const SpecError&) {
    return std::nullopt;
  }
}

/// What tells one operation from another.
std::string identity_of(const Plan& plan) {
  std::string identity;
  for (const KernelPlan& kernel : plan.kernels) {
    identity += kernel.template_path;
    for (const Constant& constant : kernel.constants) identity += " " + constant.name + "=" + constant.text();
    identity += "\n";
  }
  return identity;
}

/// Every combination of the choices.
std::vector<Settings> combinations(const Choices& choices) {
  std::vector<Settings> all = {{}};
  for (const auto& [key, values] : choices) {
    std::vector<Settings> longer;
    for (const Settings& settings : all) {
      for (const int value : values) {
        longer.push_back(settings);
        longer.back()[key] = {.value = value};
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// The number that the Plan has chosen where the key would set it; nothing if no kernel has such a one.
std::optional<std::int64_t> chosen_number(const Plan& plan, std::string_view key) {
  for (const KernelPlan& kernel : plan.kernels) {
    const auto constant = std::ranges::find(kernel.constants, key, &Constant::setting);
    if (constant != kernel.constants.end()) return std::get<std::int64_t>(constant->value);
  }
  return std::nullopt;
}

/// The Plan's own choice, as often halved and doubled.
std::vector<int> around(std::int64_t own, int times) {
  std::vector<int> values;
  for (std::int64_t value = own >> times; value <= own << times && value <= std::numeric_limits<int>::max();
       value = value == 0 ? 1 : 2 * value) {
    if (value > 0) values.push_back(static_cast<int>(value));
  }
  return values;
}

/// Values near the Plan's own of the keys that decide about speed, by what goes together.
std::vector<Settings> near(const Plan& own, std::span<const std::string_view> keys) {
  struct Knob {
    std::string_view key;
    int times;
  };
  static const std::vector<std::vector<Knob>> groups = {{{"blocks", 2}, {"threads", 1}},
                                                        {{"tile_m", 1}, {"tile_n", 1}},
                                                        {{"chunk", 2}},
                                                        {{"comm_blocks", 2}},
                                                        {{"portions", 1}},
                                                        {{"parts", 1}}};
  std::vector<Settings> all;
  for (const std::vector<Knob>& group : groups) {
    Choices choices;
    for (const Knob& knob : group) {
      if (std::ranges::find(keys, knob.key) == keys.end()) continue;
      const auto number = chosen_number(own, knob.key);
      if (number) choices.emplace_back(knob.key, around(*number, knob.times));
    }
    if (choices.empty()) continue;
    const std::vector<Settings> some = combinations(choices);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// What `tune:` says, of the keys that the variant uses.
std::vector<Settings> asked_for(const SearchSpace& space, std::span<const std::string_view> keys) {
  Choices choices;
  for (const auto& [key, settings] : space) {
    if (std::ranges::find(keys, std::string_view(key)) == keys.end()) continue;
    std::vector<int> values;
    for (const Setting& setting : settings) values.push_back(setting.value);
    choices.emplace_back(key, values);
  }
  return choices.empty() ? std::vector<Settings>{} : combinations(choices);
}

/// Every combination of the lists in `constants`, the first of each first; one of none where there are no lists.
std::vector<Settings> constants_of(const KernelSpec& kernel) {
  Choices choices;
  if (kernel.user) {
    for (const auto& [name, number] : kernel.user->constants) {
      if (!number.candidates.empty()) choices.emplace_back(name, number.candidates);
    }
  }
  return combinations(choices);
}

bool sets_any(const Settings& config, const Settings& settings) {
  return std::ranges::any_of(settings, [&](const auto& entry) { return config.contains(entry.first); });
}

/// Throws SpecError for a key of `tune:` that none of the variants uses.
void check_space(const KernelSpec& kernel) {
  Report report("kernel '" + kernel.name + "'", "");
  for (const auto& [key, settings] : kernel.tune) {
    const auto uses = [&](const Variant& variant) {
      const bool wanted = kernel.variant == "auto" || kernel.variant == variant.name;
      return wanted && std::ranges::find(variant.keys, std::string_view(key)) != variant.keys.end();
    };
    if (std::ranges::any_of(pattern_of(kernel.problem).variants, uses)) continue;
    std::string problem = "'" + key + "' is nothing to tune in " + kernel.problem.pattern + ": ";
    problem += kernel.variant == "auto" ? "no variant of it uses it" : kernel.variant + " does not use it";
    report.error(settings.front().where, problem + "; remove it");
  }
  report.throw_if_any();
}

}  // namespace

std::vector<TuningCandidate> tuning_candidates(const KernelSpec& kernel, int world, const Target& target) {
  const auto predicted_us = [](const TuningCandidate& own) { return own.plan.prediction.time_us; };
  check_space(kernel);
  static_cast<void>(make_plan(kernel, world, target));  // throws where none can
  std::vector<TuningCandidate> owns;
  for (const Variant& variant : pattern_of(kernel.problem).variants) {
    if (kernel.variant == "auto" ? !variant.deterministic : kernel.variant != variant.name) continue;
    for (const Settings& constants : constants_of(kernel)) {
      auto own = plan(kernel, world, target, variant.name, {}, constants);
      if (!own) continue;
      const auto after = std::ranges::upper_bound(owns, predicted_us(*own), {}, predicted_us);
      owns.insert(after, *std::move(own));
    }
  }
  std::vector<TuningCandidate> all;
  for (TuningCandidate& own : owns) {
    const auto& variants = pattern_of(kernel.problem).variants;
    const auto& keys = std::ranges::find(variants, std::string_view(own.variant), &Variant::name)->keys;
    std::set<std::string> known = {identity_of(own.plan)};
    const Plan own_plan = own.plan;
    const Settings constants = own.constants;
    all.push_back(std::move(own));
    for (const Settings& config : kernel.tune.empty() ? near(own_plan, keys) : asked_for(kernel.tune, keys)) {
      if (sets_any(kernel.config, config)) continue;  // the user's own stays
      auto candidate = plan(kernel, world, target, own_plan.variant, config, constants);
      if (candidate && known.insert(identity_of(candidate->plan)).second) all.push_back(*std::move(candidate));
    }
  }
  return all;
}

Problem verification_problem(const Problem& problem) {
  if (problem.pattern == user_pattern) return problem;  // what its source makes of another size nobody knows
  const bool multiplies = pattern_of(problem).product != nullptr;
  // Few enough for float64 on one core, and enough for several tiles, or for many packs of every thread.
  const std::int64_t most = multiplies ? 128 : std::int64_t{1} << 17;
  constexpr std::int64_t period = 32;  // that packs, and parts of tiles, divide
  Problem small = problem;
  std::int64_t elements = 1;
  for (auto& [name, extent] : small.extents) {
    const std::int64_t step = name == "k" ? 2 * period : period * problem.world;  // ranks divide the others
    const std::int64_t room = multiplies ? most : most / elements;
    if (extent.value >= room + 2 * step) extent.value = (room / step + 1) * step + extent.value % step;
    elements *= std::max<std::int64_t>(1, extent.value);
  }
  return small;
}

Plan verification_plan(const KernelSpec& kernel, int world, const Target& target, const TuningCandidate& candidate) {
  KernelSpec small = kernel;
  small.problem = verification_problem(candidate.plan.problem);
  const auto& variants = pattern_of(small.problem).variants;
  const auto variant = std::ranges::find(variants, std::string_view(candidate.variant), &Variant::name);
  Settings pinned = candidate.config;
  for (const std::string_view key : variant->keys) {
    const auto number = chosen_number(candidate.plan, key);
    if (number && !kernel.config.contains(key)) pinned[std::string(key)] = {.value = static_cast<int>(*number)};
  }
  // A part of a tile has a slice of k at least.
  if (const auto parts = pinned.find("parts"), tile_k = pinned.find("tile_k");
      parts != pinned.end() && tile_k != pinned.end()) {
    const std::int64_t least = std::int64_t{parts->second.value} * tile_k->second.value;
    for (auto& [name, extent] : small.problem.extents) {
      if (name == "k") extent.value = std::min(candidate.plan.problem.extent("k").value, std::max(extent.value, least));
    }
  }
  // For a small problem its parts would be others, which are not what is measured.
  std::vector<std::string> templates;
  templates.reserve(candidate.plan.kernels.size());
  for (const KernelPlan& kernel : candidate.plan.kernels) templates.push_back(kernel.template_path);
  for (const Settings& config : {pinned, candidate.config}) {
    if (auto planned =
            plan(small, world, target, candidate.variant, config, candidate.constants, {.templates = templates}))
      return planned->plan;
  }
  return candidate.plan;
}

}  // namespace irisgen
