#include "generator/plan/choose.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>

namespace irisgen {
namespace {

constexpr std::string_view timeout_key = "timeout_ms";

/// A row of the pattern and what it came to.
struct Candidate {
  const Variant* variant = nullptr;
  Draft draft = {};                       ///< where it can do the problem
  std::optional<SpecError> refusal = {};  ///< why it cannot
  bool lacks_key = false;                 ///< it does not understand a key of the config
};

SpecError refusal_of(const KernelSpec& spec, Position where, const std::string& message) {
  Report report("kernel '" + spec.name + "'", "");
  report.error(where, message);
  return SpecError(std::move(report));
}

std::string first_message(const SpecError& error) {
  return error.report().diagnostics().front().message;
}

/// The first key of the config that is none of `keys`, as an error of whoever `it` is; nothing if all are.
std::optional<SpecError> check_keys(const KernelSpec& spec, const Settings& config,
                                    const std::vector<std::string_view>& keys, const std::string& it) {
  std::string words;
  for (const std::string_view key : keys) words.append(key).append(", ");
  for (const auto& [key, setting] : config) {
    if (key == timeout_key || std::ranges::find(keys, key) != keys.end()) continue;
    std::string problem = it;
    problem.append(" does not use '").append(key).append("'; it uses ").append(words).append(timeout_key);
    return refusal_of(spec, setting.where, problem);
  }
  return std::nullopt;
}

Candidate consider(const KernelSpec& spec, const Problem& problem, const Target& target, const Settings& config,
                   const Variant& variant) {
  Candidate candidate{.variant = &variant};
  candidate.refusal = check_keys(spec, config, {variant.keys.begin(), variant.keys.end()},
                                 problem.pattern + " (" + std::string(variant.name) + ")");
  candidate.lacks_key = candidate.refusal.has_value();
  if (candidate.lacks_key) return candidate;
  const std::string why = variant.refusal ? variant.refusal(problem, target) : "";
  if (!why.empty()) {
    candidate.refusal = refusal_of(spec, spec.where.variant, std::string(variant.name) + " " + why);
    return candidate;
  }
  try {
    candidate.draft = variant.plan({spec, problem, target, config, variant.name});
  } catch (const SpecError& error) {
    candidate.refusal = error;
  }
  return candidate;
}

std::vector<Candidate> consider_all(const KernelSpec& spec, const Problem& problem, const Target& target,
                                    const Settings& config) {
  std::vector<Candidate> candidates;
  for (const Variant& variant : pattern_of(problem).variants) {
    candidates.push_back(consider(spec, problem, target, config, variant));
  }
  return candidates;
}

/// Microseconds of a launch of a static problem.
double time_of(const Candidate& candidate, const Problem& problem, const Target& target) {
  return predict(target, problem.world, candidate.variant->cost(problem, target, candidate.draft)).time_us;
}

/// Where sizes are not known: every dynamic extent so long.
Problem at_nominal_size(const Problem& problem) {
  constexpr std::int64_t nominal_extent = 4096;
  iris::Extents extents;
  for (const std::string& name : problem.dynamic_extents()) extents.set(name, nominal_extent);
  return problem.at(extents);
}

/// The problem with its last dynamic extent such that it has about that size, and the others 1.
Problem at_size(const Problem& problem, std::int64_t size) {
  const std::vector<std::string> names = problem.dynamic_extents();
  iris::Extents extents;
  for (const std::string& name : names) extents.set(name, 1);
  const std::int64_t others = std::max<std::int64_t>(1, iris::size_of(problem, extents));
  extents.set(names.back(), std::max<std::int64_t>(1, size / others));
  return problem.at(extents);
}

/// The candidate of the least predicted time, the first of several; null if none can.
const Candidate* fastest(const std::vector<Candidate>& candidates, const Problem& problem, const Target& target) {
  const Candidate* best = nullptr;
  double best_us = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    if (candidate.refusal) continue;
    const double us = time_of(candidate, problem, target);
    if (us >= best_us) continue;
    best = &candidate;
    best_us = us;
  }
  return best;
}

/// A range of sizes and who serves it.
struct Range {
  const Candidate* candidate;
  std::int64_t up_to;
};

/// The largest size at which `candidate` is still the fastest, between one at which it is and one at which it is not.
std::int64_t last_size_of(const Candidate* candidate, std::int64_t good, std::int64_t bad,
                          const std::vector<Candidate>& candidates, const Problem& problem, const Target& target) {
  while (bad - good > 1 + good / 64) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fastest(candidates, at_size(problem, middle), target) == candidate ? good : bad) = middle;
  }
  return good;
}

/// Who is fastest at which sizes, smallest first; at least one range.
std::vector<Range> ranges_of(const std::vector<Candidate>& candidates, const Problem& problem, const Target& target) {
  constexpr std::int64_t largest = std::int64_t{1} << 34;
  std::vector<Range> ranges;
  for (std::int64_t size = 1; size <= largest; size *= 2) {
    const Candidate* best = fastest(candidates, at_size(problem, size), target);
    if (!ranges.empty() && ranges.back().candidate == best) continue;
    if (!ranges.empty()) {
      ranges.back().up_to = last_size_of(ranges.back().candidate, size / 2, size, candidates, problem, target);
    }
    ranges.push_back({best, iris::every_size});
  }
  return ranges;
}

/// Joins the drafts of several candidates to one operation, each serving its sizes.
class Joiner {
 public:
  explicit Joiner(Chosen& chosen) : chosen_(chosen) {}

  void add(const Range& range) {
    auto known = std::ranges::find(added_, range.candidate, &Added::candidate);
    if (known == added_.end()) {
      add_kernels(*range.candidate);
      known = std::prev(added_.end());
    }
    iris::Schedule schedule{range.up_to, range.candidate->draft.steps};
    for (iris::Step& step : schedule.steps) move_kernels(step, known->first_kernel);
    chosen_.schedules.push_back(std::move(schedule));
  }

 private:
  struct Added {
    const Candidate* candidate;
    int first_kernel;
  };

  void add_kernels(const Candidate& candidate) {
    const Draft& draft = candidate.draft;
    Draft& joined = chosen_.draft;
    joined.intermediates.insert(joined.intermediates.end(), draft.intermediates.begin(), draft.intermediates.end());
    if (added_.empty()) {
      joined.arguments = draft.arguments;
      joined.in_place = draft.in_place;
    }
    if (joined.in_place != draft.in_place) joined.in_place = InPlace::no;
    added_.push_back({&candidate, static_cast<int>(joined.kernels.size())});
    for (std::size_t i = 0; i < draft.arguments.size(); ++i) {
      Argument& argument = joined.arguments.at(i);
      argument.alignment = std::max(argument.alignment, draft.arguments[i].alignment);
      argument.symmetric = argument.symmetric || draft.arguments[i].symmetric;
    }
    for (KernelPlan kernel : draft.kernels) {
      kernel.part = std::string(candidate.variant->name) + (kernel.part.empty() ? "" : "_" + kernel.part);
      joined.kernels.push_back(std::move(kernel));
    }
  }

  Chosen& chosen_;
  std::vector<Added> added_;
};

std::string words_of(const std::vector<Range>& ranges) {
  std::string words = "known only at launch:";
  for (const Range& range : ranges) {
    words.append(&range == ranges.data() ? " " : ", ").append(range.candidate->variant->name);
    words += range.up_to == iris::every_size ? " above" : " up to " + std::to_string(range.up_to) + " elements";
  }
  return words;
}

void take(const Candidate& candidate, std::string reason, Chosen& chosen) {
  chosen.variant = candidate.variant->name;
  chosen.draft = candidate.draft;
  chosen.schedules = {{iris::every_size, candidate.draft.steps}};
  chosen.reason = std::move(reason);
}

/// Every row, with its time where the problem is static.
std::vector<Alternative> compare(const std::vector<Candidate>& candidates, const Problem& problem,
                                 const Target& target) {
  std::vector<Alternative> alternatives;
  for (const Candidate& candidate : candidates) {
    Alternative alternative{std::string(candidate.variant->name)};
    if (candidate.refusal) {
      alternative.refusal = first_message(*candidate.refusal);
    } else if (problem.is_static() && target.predicts) {
      alternative.time_us = time_of(candidate, problem, target);
    }
    alternatives.push_back(std::move(alternative));
  }
  return alternatives;
}

/// No row can: what is wrong with the first that understands the config, or that none does.
[[noreturn]] void refuse_all(const KernelSpec& spec, const std::string& pattern, const Settings& config,
                             const std::vector<Candidate>& candidates) {
  std::vector<std::string_view> keys;
  for (const Candidate& candidate : candidates) {
    if (!candidate.lacks_key) throw SpecError(candidate.refusal.value());
    for (const std::string_view key : candidate.variant->keys) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  if (auto error = check_keys(spec, config, keys, pattern)) throw SpecError(*std::move(error));
  throw SpecError(candidates.front().refusal.value());  // each key is some row's, but all are no one's
}

void choose_for_unknown_size(const std::vector<Candidate>& candidates, const Problem& problem, const Target& target,
                             Chosen& chosen) {
  if (pattern_of(problem).bus == nullptr) {  // no one size to tell launches apart by
    return take(*fastest(candidates, at_nominal_size(problem), target), "predicted for extents of 4096", chosen);
  }
  const std::vector<Range> ranges = ranges_of(candidates, problem, target);
  if (ranges.size() == 1) return take(*ranges.front().candidate, "fastest at every size, as predicted", chosen);
  chosen.variant = "by_size";
  chosen.reason = words_of(ranges);
  Joiner joiner(chosen);
  for (const Range& range : ranges) joiner.add(range);
}

void choose_by_model(const KernelSpec& spec, const std::vector<Candidate>& candidates, const Problem& problem,
                     const Target& target, Chosen& chosen) {
  const auto can = [](const Candidate& candidate) { return !candidate.refusal; };
  const auto count = std::ranges::count_if(candidates, can);
  if (count == 0) refuse_all(spec, problem.pattern, spec.config, candidates);
  if (count == 1) {
    const std::string reason = candidates.size() == 1 ? "the only one" : "the only one that can";
    return take(*std::ranges::find_if(candidates, can), reason, chosen);
  }
  if (!problem.is_static()) return choose_for_unknown_size(candidates, problem, target, chosen);
  std::string reason = target.predicts ? "predicted:" : "as a GPU would, which is predicted to take:";
  for (const Candidate& candidate : candidates) {
    if (candidate.refusal) continue;
    reason.append(reason.ends_with(':') ? " " : ", ").append(candidate.variant->name).append(" ");
    reason += microseconds(time_of(candidate, problem, target));
  }
  take(*fastest(candidates, problem, target), std::move(reason), chosen);
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
  take(candidate, "tuned: measured " + microseconds(entry->time_us), chosen);
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

Chosen choose(const KernelSpec& spec, const Problem& problem, const Target& target, const PlanOptions& options) {
  Chosen chosen;
  const std::vector<Candidate> candidates = consider_all(spec, problem, target, spec.config);
  chosen.alternatives = compare(candidates, problem, target);
  if (spec.variant != "auto") {
    const auto wanted = std::ranges::find_if(
        candidates, [&](const Candidate& candidate) { return candidate.variant->name == spec.variant; });
    if (wanted->refusal) throw SpecError(*wanted->refusal);
    take(*wanted, "set in the description", chosen);
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
