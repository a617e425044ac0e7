#include "generator/plan/candidate.hpp"

#include <algorithm>
#include <limits>

#include "generator/plan/compose.hpp"
#include "generator/plan/functions.hpp"

namespace irisgen {
namespace {

constexpr std::string_view timeout_key = "timeout_ms";

SpecError refusal_of(const KernelSpec& spec, Position where, const std::string& message) {
  Report report("kernel '" + spec.name + "'", "");
  report.error(where, message);
  return SpecError(std::move(report));
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

bool is_made_of(const Draft& draft, std::span<const std::string> templates) {
  return std::ranges::all_of(draft.kernels, [&](const KernelPlan& kernel) {
    return std::ranges::find(templates, kernel.template_path) != templates.end();
  });
}

}  // namespace

Candidate consider(const KernelSpec& spec, const Problem& problem, const Target& target, const Settings& config,
                   std::span<const FunctionPlan> functions, const Variant& variant,
                   const std::optional<Launches>& launches) {
  Candidate candidate{.variant = &variant, .config = config};
  candidate.refusal = check_keys(spec, config, {variant.keys.begin(), variant.keys.end()},
                                 problem.pattern + " (" + std::string(variant.name) + ")");
  candidate.lacks_key = candidate.refusal.has_value();
  if (candidate.lacks_key) return candidate;
  if (!variant.deterministic && spec.variant != variant.name) {
    candidate.refusal = refusal_of(spec, spec.where.variant,
                                   std::string(variant.name) + " is not deterministic, and taken only by its name");
    return candidate;
  }
  const std::string why = variant.refusal ? variant.refusal(problem, target) : "";
  if (!why.empty()) {
    candidate.refusal = refusal_of(spec, spec.where.variant, std::string(variant.name) + " " + why);
    return candidate;
  }
  try {
    const Launches any{.typical = problem};
    const Request request{spec, problem, target, config, variant.name, launches ? *launches : any};
    candidate.draft = variant.plan(request);
    attach_functions(request, variant, functions, candidate.draft);
    if (const auto templates = request.launches.templates;
        !templates.empty() && !is_made_of(candidate.draft, templates))
      candidate.refusal = refusal_of(spec, spec.where.variant, std::string(variant.name) + " is made of other kernels");
  } catch (const SpecError& error) {
    candidate.refusal = error;
  }
  return candidate;
}

std::vector<Candidate> consider_all(const KernelSpec& spec, const Problem& problem, const Target& target,
                                    const Settings& config, std::span<const FunctionPlan> functions,
                                    const std::optional<Launches>& launches) {
  std::vector<Candidate> candidates;
  for (const Variant& variant : pattern_of(problem).variants) {
    candidates.push_back(consider(spec, problem, target, config, functions, variant, launches));
  }
  return candidates;
}

double time_of(const Candidate& candidate, const Problem& problem, const Target& target) {
  return predict(target, problem.world, cost_of(*candidate.variant, problem, target, candidate.draft)).time_us;
}

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

void refuse_all(const KernelSpec& spec, const std::string& pattern, const Settings& config,
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

}  // namespace irisgen
