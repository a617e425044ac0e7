#include "generator/plan/choose.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "generator/plan/by_size.hpp"
#include "generator/plan/compose.hpp"
#include "generator/plan/join.hpp"

namespace irisgen {
namespace {

/// Every row, with its time where the problem is static.
std::vector<Alternative> compare(const std::vector<Candidate>& candidates, const Problem& problem,
                                 const Target& target) {
  std::vector<Alternative> alternatives;
  for (const Candidate& candidate : candidates) {
    Alternative alternative{std::string(candidate.variant->name)};
    if (candidate.refusal) {
      alternative.refusal = candidate.refusal->report().diagnostics().front().message;
    } else if (candidate.variant->cost && problem.is_static() && target.predicts) {
      alternative.time_us = time_of(candidate, problem, target);
    }
    alternatives.push_back(std::move(alternative));
  }
  return alternatives;
}

/// What tuning tables say of a problem, each choice planned once.
class Tuned {
 public:
  /// `untuned`: every variant with the description's own config.
  Tuned(const KernelSpec& spec, const Problem& problem, const Target& target, const PlanOptions& options,
        std::span<const FunctionPlan> functions, const std::vector<Candidate>& untuned)
      : spec_(spec), problem_(problem), target_(target), options_(options), functions_(functions), untuned_(untuned) {}

  struct Choice {
    const Candidate* candidate = nullptr;  ///< null where no table has measured such a size, or it cannot be planned
    const TuningEntry* entry = nullptr;
  };
  /// `sized` is the problem with all extents known.
  Choice at(const Problem& sized) {
    if (!is_left_to_plan(spec_)) return {};
    for (const TuningTable& table : options_.tuning) {
      const TuningEntry* entry = table.find(sized, target_, options_.device);
      if (!entry) continue;
      if (const Candidate& candidate = planned(*entry); !candidate.refusal) return {&candidate, entry};
    }
    return {};
  }

  /// Whether a table has anything of such problems, whatever their size.
  bool has_any() const {
    const auto has = [&](const TuningTable& table) { return table.has_kind(problem_, target_, options_.device); };
    return is_left_to_plan(spec_) && std::ranges::any_of(options_.tuning, has);
  }

 private:
  const Candidate& planned(const TuningEntry& entry) {
    // What the Plan chose beside, it chose for the measured size.
    if (entry.config.empty() && problem_.is_static()) {
      const auto same = [&](const Candidate& other) { return other.variant->name == entry.variant; };
      if (const auto known = std::ranges::find_if(untuned_, same); known != untuned_.end()) return *known;
    }
    std::string key = entry.variant;
    if (!problem_.is_static()) {
      for (const auto& [name, extent] : entry.problem.extents) key += " " + std::to_string(extent.value);
    }
    for (const auto& [name, setting] : entry.config) key.append(" ").append(name + std::to_string(setting.value));
    const auto [known, first] = planned_.try_emplace(key);
    if (first) known->second = plan(entry);
    return known->second;
  }

  Candidate plan(const TuningEntry& entry) const {
    const auto& variants = pattern_of(problem_).variants;
    const auto variant = std::ranges::find(variants, std::string_view(entry.variant), &Variant::name);
    KernelSpec spec = spec_;
    spec.tune = {};  // of which the table's config is a part
    for (const auto& [key, setting] : entry.config)
      spec.config[key] = {.value = setting.value, .by = Setting::By::measurement};
    try {
      if (variant == variants.end()) spec.variant = entry.variant;
      check(spec);  // a table comes from elsewhere: it may say no more than a description could
      if (problem_.is_static()) return consider(spec_, problem_, target_, spec.config, functions_, *variant);
      return consider(spec_, problem_, target_, spec.config, functions_, *variant, Launches{measured(entry)});
    } catch (const SpecError& error) {
      return {.refusal = error};
    }
  }

  /// The problem as it was measured, in its own types; of a collective, as long in its own shape.
  Problem measured(const TuningEntry& entry) const {
    if (pattern_of(problem_).product == nullptr) return at_size(problem_, iris::size_of(entry.problem));
    Problem problem = problem_;
    problem.extents = entry.problem.extents;
    return problem;
  }

  const KernelSpec& spec_;
  const Problem& problem_;
  const Target& target_;
  const PlanOptions& options_;
  std::span<const FunctionPlan> functions_;
  const std::vector<Candidate>& untuned_;
  std::map<std::string, Candidate> planned_;
};

/// `m = 1, n = 512 on NVIDIA H200, CUDA 13.0`
std::string place_of(const TuningEntry& entry) {
  std::string words;
  for (const auto& [name, extent] : entry.problem.extents) {
    words.append(words.empty() ? "" : ", ").append(name + " = " + std::to_string(extent.value));
  }
  return words + " on " + entry.device + ", " + entry.driver;
}

std::string words_of(const TuningEntry& entry) {
  return "measured " + microseconds(entry.time_us) + " at " + place_of(entry);
}

/// What the first table that has measured a problem of about this size has of its variants. Not of a description with a
/// config of its own, which is another kernel.
void add_measured(const KernelSpec& spec, const Problem& problem, const Target& target, const PlanOptions& options,
                  Chosen& chosen) {
  if (!problem.is_static() || !leaves_config_to_plan(spec)) return;
  for (const TuningTable& table : options.tuning) {
    const TuningEntry* entry = table.find(problem, target, options.device);
    if (!entry) continue;
    chosen.measured_at = place_of(*entry);
    for (Alternative& alternative : chosen.alternatives) {
      const auto measured = entry->times_us.find(alternative.variant);
      if (measured != entry->times_us.end()) alternative.measured_us = measured->second;
      if (alternative.variant == entry->variant) alternative.measured_us = entry->time_us;
    }
    return;
  }
}

/// A kernel of the user's own with what a table has measured of it. Nothing where none has, or it cannot be planned.
std::optional<Candidate> tuned_own(const KernelSpec& spec, const Problem& problem, const Target& target,
                                   const PlanOptions& options, const Candidate& untuned, std::string& reason) {
  if (!spec.user || !is_left_to_plan(spec)) return std::nullopt;
  const std::string hash = spec_hash_of(spec, problem.world, untuned.draft.kernels.front().source->text);
  for (const TuningTable& table : options.tuning) {
    const TuningEntry* entry = table.find_own(hash, target, options.device);
    if (!entry) continue;
    KernelSpec tuned = spec;
    for (const auto& [key, setting] : entry->config)
      tuned.config[key] = {.value = setting.value, .by = Setting::By::measurement};
    for (const auto& [name, setting] : entry->constants) {
      UserKernel::Number& number = tuned.user->constants[name];
      number = {.value = setting.value, .where = number.where, .measured = true};
    }
    Candidate candidate = consider(tuned, problem, target, tuned.config, {}, *untuned.variant);
    if (candidate.refusal) continue;
    reason += ", tuned: " + words_of(*entry);
    return candidate;
  }
  return std::nullopt;
}

void choose_for_unknown_size(const KernelSpec& spec, const std::vector<Candidate>& candidates, const Problem& problem,
                             const Target& target, std::span<const FunctionPlan> functions, Tuned& tuned,
                             Chosen& chosen) {
  const bool is_product = pattern_of(problem).product != nullptr;
  const bool shapes_differ = is_product && leaves_config_to_plan(spec);
  const std::vector<Candidate> few =
      shapes_differ ? few_for_all_sizes(spec, problem, target, functions, candidates) : std::vector<Candidate>{};
  std::optional<AtEverySize> collective;
  if (!is_product) collective.emplace(spec, problem, target, functions, candidates);
  const auto fastest_at = [&](const Problem& sized) {
    if (collective) return collective->fastest_at(sized);
    return fastest(shapes_differ ? few : candidates, sized, target);
  };
  bool measured = false;
  const auto best_at = [&](const Problem& sized) {
    const Candidate* candidate = tuned.at(sized).candidate;
    measured = measured || candidate;
    return candidate ? Best{candidate, true} : Best{fastest_at(sized), false};
  };
  choose_by_size(spec, problem, target, functions, best_at, chosen);
  chosen.reason += measured ? ", as measured where it was and else predicted" : ", as predicted";
  if (is_product && problem.dynamic_extents().size() > 1)
    chosen.reason += ", with the other lengths " + std::to_string(nominal_extent);
}

void choose_automatically(const KernelSpec& spec, const std::vector<Candidate>& candidates, const Problem& problem,
                          const Target& target, std::span<const FunctionPlan> functions, Tuned& tuned, Chosen& chosen) {
  const auto can = [](const Candidate& candidate) { return !candidate.refusal; };
  const auto count = std::ranges::count_if(candidates, can);
  if (count == 0) refuse_all(spec, problem.pattern, spec.config, candidates);
  if (const Tuned::Choice choice = problem.is_static() ? tuned.at(problem) : Tuned::Choice{}; choice.candidate) {
    return chosen.take(*choice.candidate, "tuned: " + words_of(*choice.entry));
  }
  if (!problem.is_static() && (count > 1 || tuned.has_any())) {
    return choose_for_unknown_size(spec, candidates, problem, target, functions, tuned, chosen);
  }
  if (count == 1) {
    const std::string reason = candidates.size() == 1 ? "the only one" : "the only one that can";
    return chosen.take(*std::ranges::find_if(candidates, can), reason);
  }
  std::string reason = target.predicts ? "predicted:" : "as a GPU would, which is predicted to take:";
  for (const Candidate& candidate : candidates) {
    if (candidate.refusal) continue;
    reason.append(reason.ends_with(':') ? " " : ", ").append(candidate.variant->name).append(" ");
    reason += microseconds(time_of(candidate, problem, target));
  }
  chosen.take(*fastest(candidates, problem, target), std::move(reason));
}

Prediction prediction_of(const Chosen& chosen, const std::vector<Candidate>& candidates, const Problem& problem,
                         const Target& target) {
  Prediction prediction;
  if (!problem.is_static()) {
    prediction.basis = "sizes are known only at launch";
    return prediction;
  }
  const auto taken = std::ranges::find_if(
      candidates, [&](const Candidate& candidate) { return candidate.variant->name == chosen.variant; });
  if (!taken->variant->cost) {
    prediction.basis = "nobody knows what a kernel of your own does";
    return prediction;
  }
  prediction = predict(target, problem.world, cost_of(*taken->variant, problem, target, chosen.draft));
  if (target.predicts) return prediction;
  return {.link_bytes = prediction.link_bytes,
          .floor_us = 0,
          .time_us = 0,
          .basis = std::string(target.name) + " has no rates to predict from"};
}

}  // namespace

void Chosen::take(const Candidate& candidate, std::string why) {
  variant = candidate.variant->name;
  deterministic = candidate.variant->deterministic;
  draft = candidate.draft;
  schedules = {{iris::every_size, candidate.draft.steps}};
  reason = std::move(why);
}

namespace {

Chosen choose_for_all_rows(const KernelSpec& spec, const Problem& problem, const Target& target,
                           const PlanOptions& options, std::span<const FunctionPlan> functions) {
  Chosen chosen;
  const Launches launches = {.typical = problem, .templates = options.templates};
  const std::vector<Candidate> candidates = consider_all(spec, problem, target, spec.config, functions, launches);
  chosen.alternatives = compare(candidates, problem, target);
  add_measured(spec, problem, target, options, chosen);
  if (spec.variant != "auto") {
    const auto wanted = std::ranges::find_if(
        candidates, [&](const Candidate& candidate) { return candidate.variant->name == spec.variant; });
    if (wanted->refusal) throw SpecError(*wanted->refusal);
    std::string reason = spec.user ? spec.user->entry + " of " + spec.user->source : "set in the description";
    const auto tuned = tuned_own(spec, problem, target, options, *wanted, reason);
    chosen.take(tuned ? *tuned : *wanted, std::move(reason));
  } else {
    Tuned tuned(spec, problem, target, options, functions, candidates);
    choose_automatically(spec, candidates, problem, target, functions, tuned, chosen);
  }
  chosen.prediction = prediction_of(chosen, candidates, problem, target);
  return chosen;
}

/// Of the dynamic extents along which A and B are contiguous: so that their rows are multiples of 16 bytes.
std::vector<iris::Bound> multiples_of_rows(const Problem& problem) {
  std::vector<iris::Bound> multiples;
  const int elements = access_bytes / iris::bytes_of(problem.dtype);
  for (const char* name : {"n", "k"}) {
    const bool is_along_rows = name == std::string_view("k") || problem.layout_b == iris::Layout::kn;
    if (is_along_rows && problem.extent(name).dynamic)
      multiples.push_back({.extent = name, .multiple_of = elements * shards_of(problem, name)});
  }
  return multiples;
}

/// Whether kernels multiply rows of any length, or copy them first, since nothing is known of them, where tensor copies
/// might bring them.
bool waits_for_rows(const Draft& draft) {
  return std::ranges::any_of(draft.kernels, [](const KernelPlan& kernel) {
    const auto loop = kernel.main_loop();
    return loop == MainLoop::fma || loop == MainLoop::mma_packed || kernel.problem.pattern == pad_pattern;
  });
}

/// Whether tensor copies bring B from where the caller has it.
bool has_tensor_copies(const Chosen& chosen) {
  const auto copies_b = [](const iris::Step& step) {
    const auto* launch = std::get_if<iris::LaunchStep>(&step.action);
    return launch && std::ranges::find(launch->maps, "b", &iris::MatrixMap::buffer) != launch->maps.end();
  };
  return std::ranges::any_of(
      chosen.schedules, [&](const iris::Schedule& schedule) { return std::ranges::any_of(schedule.steps, copies_b); });
}

}  // namespace

Chosen choose(const KernelSpec& spec, const Problem& problem, const Target& target, const PlanOptions& options,
              std::span<const FunctionPlan> functions) {
  Chosen others = choose_for_all_rows(spec, problem, target, options, functions);
  const bool is_product = pattern_of(problem).product != nullptr;
  if (!is_product || target.platform != Platform::nvidia || !waits_for_rows(others.draft)) return others;
  const std::vector<iris::Bound> multiples = multiples_of_rows(problem);
  if (multiples.empty()) return others;
  Problem of_multiples = problem;
  for (iris::NamedExtent& named : of_multiples.extents) {
    const auto known = std::ranges::find(multiples, named.name, &iris::Bound::extent);
    if (known != multiples.end()) named.extent.multiple = known->multiple_of;
  }
  try {
    const Chosen chosen = choose_for_all_rows(spec, of_multiples, target, options, functions);
    return has_tensor_copies(chosen) ? join_by_rows(chosen, multiples, std::move(others)) : others;
  } catch (const SpecError&) {
    return others;  // what the description asks for goes without tensor copies only
  }
}

std::pair<const Variant*, Draft> choose_part(const Request& request) {
  const std::vector<Candidate> candidates =
      consider_all(request.spec, request.problem, request.target, request.config, {}, request.launches);
  const Candidate* best = fastest(candidates, at_nominal_size(request.typical()), request.target);
  if (!best) refuse_all(request.spec, request.problem.pattern, request.config, candidates);
  return {best->variant, best->draft};
}

}  // namespace irisgen
