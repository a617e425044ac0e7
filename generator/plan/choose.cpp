#include "generator/plan/choose.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "generator/plan/by_size.hpp"

namespace irisgen {
namespace {

/// Where sizes are not known: every dynamic extent so long.
Problem at_nominal_size(const Problem& problem) {
  constexpr std::int64_t nominal_extent = 4096;
  iris::Extents extents;
  for (const std::string& name : problem.dynamic_extents()) extents.set(name, nominal_extent);
  return problem.at(extents);
}

/// Every row, with its time where the problem is static.
std::vector<Alternative> compare(const std::vector<Candidate>& candidates, const Problem& problem,
                                 const Target& target) {
  std::vector<Alternative> alternatives;
  for (const Candidate& candidate : candidates) {
    Alternative alternative{std::string(candidate.variant->name)};
    if (candidate.refusal) {
      alternative.refusal = candidate.refusal->report().diagnostics().front().message;
    } else if (problem.is_static() && target.predicts) {
      alternative.time_us = time_of(candidate, problem, target);
    }
    alternatives.push_back(std::move(alternative));
  }
  return alternatives;
}

void choose_for_unknown_size(const std::vector<Candidate>& candidates, const Problem& problem, const Target& target,
                             Chosen& chosen) {
  if (pattern_of(problem).bus == nullptr) {  // no one size to tell launches apart by
    return chosen.take(*fastest(candidates, at_nominal_size(problem), target), "predicted for extents of 4096");
  }
  choose_by_size(problem, [&](const Problem& sized) { return fastest(candidates, sized, target); }, chosen);
}

void choose_by_model(const KernelSpec& spec, const std::vector<Candidate>& candidates, const Problem& problem,
                     const Target& target, Chosen& chosen) {
  const auto can = [](const Candidate& candidate) { return !candidate.refusal; };
  const auto count = std::ranges::count_if(candidates, can);
  if (count == 0) refuse_all(spec, problem.pattern, spec.config, candidates);
  if (count == 1) {
    const std::string reason = candidates.size() == 1 ? "the only one" : "the only one that can";
    return chosen.take(*std::ranges::find_if(candidates, can), reason);
  }
  if (!problem.is_static()) return choose_for_unknown_size(candidates, problem, target, chosen);
  std::string reason = target.predicts ? "predicted:" : "as a GPU would, which is predicted to take:";
  for (const Candidate& candidate : candidates) {
    if (candidate.refusal) continue;
    reason.append(reason.ends_with(':') ? " " : ", ").append(candidate.variant->name).append(" ");
    reason += microseconds(time_of(candidate, problem, target));
  }
  chosen.take(*fastest(candidates, problem, target), std::move(reason));
}

/// Whether a description could have this configuration: a table comes from elsewhere.
bool is_allowed(KernelSpec spec, const Settings& config) {
  spec.config = config;
  try {
    check(spec);
    return true;
  } catch (const SpecError&) {
    return false;
  }
}

/// What the tuning table says, if its configuration can still be planned.
bool choose_by_table(const KernelSpec& spec, const Problem& problem, const Target& target, const PlanOptions& options,
                     Chosen& chosen) {
  if (!options.tuning || !problem.is_static()) return false;
  const TuningEntry* entry = options.tuning->find(problem, target);
  if (!entry) return false;
  const auto& variants = pattern_of(problem).variants;
  const auto variant = std::ranges::find(variants, std::string_view(entry->variant), &Variant::name);
  if (variant == variants.end()) return false;
  Settings config = entry->config;
  for (const auto& [key, setting] : spec.config) config[key] = setting;  // the user's own win
  if (!is_allowed(spec, config)) return false;
  const Candidate candidate = consider(spec, problem, target, config, *variant);
  if (candidate.refusal) return false;
  chosen.take(candidate, "tuned: measured " + microseconds(entry->time_us));
  return true;
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
  prediction = predict(target, problem.world, taken->variant->cost(problem, target, chosen.draft));
  if (target.predicts) return prediction;
  return {.link_bytes = prediction.link_bytes,
          .floor_us = 0,
          .time_us = 0,
          .basis = std::string(target.name) + " has no rates to predict from"};
}

}  // namespace

void Chosen::take(const Candidate& candidate, std::string why) {
  variant = candidate.variant->name;
  draft = candidate.draft;
  schedules = {{iris::every_size, candidate.draft.steps}};
  reason = std::move(why);
}

Chosen choose(const KernelSpec& spec, const Problem& problem, const Target& target, const PlanOptions& options) {
  Chosen chosen;
  const std::vector<Candidate> candidates = consider_all(spec, problem, target, spec.config);
  chosen.alternatives = compare(candidates, problem, target);
  if (spec.variant != "auto") {
    const auto wanted = std::ranges::find_if(
        candidates, [&](const Candidate& candidate) { return candidate.variant->name == spec.variant; });
    if (wanted->refusal) throw SpecError(*wanted->refusal);
    chosen.take(*wanted, "set in the description");
  } else if (!choose_by_table(spec, problem, target, options, chosen)) {
    choose_by_model(spec, candidates, problem, target, chosen);
  }
  chosen.prediction = prediction_of(chosen, candidates, problem, target);
  return chosen;
}

std::pair<const Variant*, Draft> choose_part(const Request& request) {
  const std::vector<Candidate> candidates = consider_all(request.spec, request.problem, request.target, request.config);
  const Candidate* best = fastest(candidates, at_nominal_size(request.problem), request.target);
  if (!best) refuse_all(request.spec, request.problem.pattern, request.config, candidates);
  return {best->variant, best->draft};
}

const TuningEntry* TuningTable::find(const Problem& problem, const Target& target) const {
  const std::int64_t size = iris::size_of(problem);
  const auto fits = [&](const TuningEntry& entry) {
    return entry.pattern == problem.pattern && entry.dtype == problem.dtype && entry.world == problem.world &&
           entry.target == target.name && entry.from_size <= size && size <= entry.up_to;
  };
  const auto found = std::ranges::find_if(entries, fits);
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace irisgen
