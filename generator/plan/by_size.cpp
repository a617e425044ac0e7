#include "generator/plan/by_size.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

namespace irisgen {
namespace {

/// The size with all dynamic extents 1.
std::int64_t least_size(const Problem& problem) {
  iris::Extents extents;
  for (const std::string& name : problem.dynamic_extents()) extents.set(name, 1);
  return std::max<std::int64_t>(1, iris::size_of(problem, extents));
}

/// The problem with its last dynamic extent such that it has about that size, and the others 1.
Problem at_size(const Problem& problem, std::int64_t size) {
  const std::vector<std::string> names = problem.dynamic_extents();
  iris::Extents extents;
  for (const std::string& name : names) extents.set(name, 1);
  extents.set(names.back(), std::max<std::int64_t>(1, size / least_size(problem)));
  return problem.at(extents);
}

/// A range of sizes and who serves it.
struct Range {
  const Candidate* candidate;
  std::int64_t up_to;
};

/// The largest size at which `candidate` is still the best, between one at which it is and one at which it is not.
std::int64_t last_size_of(const Candidate* candidate, std::int64_t good, std::int64_t bad, const Problem& problem,
                          const BestAt& best_at) {
  while (bad - good > 1 + good / 64) {
    const std::int64_t middle = good + (bad - good) / 2;
    (best_at(at_size(problem, middle)) == candidate ? good : bad) = middle;
  }
  return good;
}

/// Who is best at which sizes, smallest first; at least one range.
std::vector<Range> ranges_of(const Problem& problem, const BestAt& best_at) {
  constexpr std::int64_t largest_extent = std::int64_t{1} << 17;
  const std::int64_t least = least_size(problem);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
  const std::int64_t largest =
      std::max(std::int64_t{1} << 34, least < most / largest_extent ? least * largest_extent : most);
  std::vector<Range> ranges;
  for (std::int64_t size = least; size <= largest; size *= 2) {
    const Candidate* best = best_at(at_size(problem, size));
    if (!ranges.empty() && ranges.back().candidate == best) continue;
    if (!ranges.empty()) {
      ranges.back().up_to = last_size_of(ranges.back().candidate, size / 2, size, problem, best_at);
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
    for (const iris::Intermediate& buffer : draft.intermediates) {
      // Another config of the same variant has the same buffers, and only one of the two is under way.
      const auto same = std::ranges::find(joined.intermediates, buffer.name, &iris::Intermediate::name);
      if (same == joined.intermediates.end()) joined.intermediates.push_back(buffer);
    }
    if (added_.empty()) {
      joined.arguments = draft.arguments;
      joined.in_place = draft.in_place;
    }
    if (joined.in_place != draft.in_place) joined.in_place = InPlace::no;
    for (std::size_t i = 0; i < draft.arguments.size(); ++i) {
      Argument& argument = joined.arguments.at(i);
      argument.alignment = std::max(argument.alignment, draft.arguments[i].alignment);
      argument.symmetric = argument.symmetric || draft.arguments[i].symmetric;
    }
    const std::string name = name_of(candidate);
    added_.push_back({&candidate, static_cast<int>(joined.kernels.size())});
    for (KernelPlan kernel : draft.kernels) {
      kernel.part = name + (kernel.part.empty() ? "" : "_" + kernel.part);
      joined.kernels.push_back(std::move(kernel));
    }
  }

  /// `chain`, and where it comes again with another config, `chain_2`.
  std::string name_of(const Candidate& candidate) const {
    const std::string name(candidate.variant->name);
    const auto same = [&](const Added& other) { return other.candidate->variant == candidate.variant; };
    const auto before = std::ranges::count_if(added_, same);
    return before == 0 ? name : name + "_" + std::to_string(before + 1);
  }

  Chosen& chosen_;
  std::vector<Added> added_;
};

std::string words_of(const Problem& problem, const std::vector<Range>& ranges) {
  std::string words = "known only at launch:";
  for (const Range& range : ranges) {
    words.append(&range == ranges.data() ? " " : ", ").append(range.candidate->variant->name);
    words += range.up_to == iris::every_size ? " above" : " " + up_to_words(problem, range.up_to);
  }
  return words;
}

/// The variant with the tiles and parts that it would take for `sized`, which is the problem with its extents known.
Candidate with_shape_for(const Problem& sized, const KernelSpec& spec, const Problem& problem, const Target& target,
                         std::span<const FunctionPlan> functions, const Variant& variant) {
  Candidate planned = consider(spec, sized, target, spec.config, functions, variant);
  if (planned.refusal) return planned;
  Settings config = spec.config;
  for (const char* key : {"tile_m", "tile_n", "parts"}) {
    const std::vector<Constant>& constants = planned.draft.kernels.front().constants;
    if (std::ranges::find(variant.keys, key) == variant.keys.end()) continue;
    if (std::ranges::find(constants, key, &Constant::name) == constants.end()) continue;
    config[key] = {.value = static_cast<int>(planned.draft.kernels.front().number(key)), .by = Setting::By::size};
  }
  return consider(spec, problem, target, config, functions, variant);
}

bool is_same(const Candidate& a, const Candidate& b) {
  const auto shape_of = [](const Candidate& candidate) {
    const KernelPlan& kernel = candidate.draft.kernels.front();
    const bool has_parts = std::ranges::find(candidate.variant->keys, "parts") != candidate.variant->keys.end();
    return std::array{kernel.number("tile_m"), kernel.number("tile_n"), has_parts ? kernel.number("parts") : 1};
  };
  return a.variant == b.variant && shape_of(a) == shape_of(b);
}

/// How many times as long the best of `chosen` takes at each size as the best of all; rows of `times` are candidates.
std::vector<double> slowdowns(const std::vector<std::vector<double>>& times, const std::vector<std::size_t>& chosen) {
  std::vector<double> slower;
  for (std::size_t size = 0; size < times.front().size(); ++size) {
    double best = std::numeric_limits<double>::infinity();
    double best_chosen = best;
    for (const auto& row : times) best = std::min(best, row[size]);
    for (const std::size_t candidate : chosen) best_chosen = std::min(best_chosen, times[candidate][size]);
    slower.push_back(best_chosen / best);
  }
  return slower;
}

/// Greedily, until every size takes little longer.
std::vector<std::size_t> few_of(const std::vector<std::vector<double>>& times) {
  constexpr std::size_t most = 5;
  constexpr double little = 1.05;
  std::vector<std::size_t> chosen;
  while (chosen.size() < std::min(most, times.size())) {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t candidate = 0; candidate < times.size(); ++candidate) {
      std::vector<std::size_t> with = chosen;
      with.push_back(candidate);
      double sum = 0;
      for (const double slower : slowdowns(times, with)) sum += std::log(slower);
      if (sum >= least) continue;
      best = candidate;
      least = sum;
    }
    chosen.push_back(best);
    if (std::ranges::max(slowdowns(times, chosen)) <= little) break;
  }
  return chosen;
}

}  // namespace

bool can_share_sizes(const std::vector<Candidate>& candidates, const Problem& problem) {
  const Pattern& pattern = pattern_of(problem);
  if (pattern.bus != nullptr) return true;
  const auto is_one_kernel = [](const Candidate& candidate) {
    return candidate.refusal || (candidate.draft.kernels.size() == 1 && candidate.draft.intermediates.empty());
  };
  return pattern.product != nullptr && problem.dynamic_extents().size() == 1 &&
         std::ranges::all_of(candidates, is_one_kernel);
}

std::vector<Candidate> few_for_all_sizes(const KernelSpec& spec, const Problem& problem, const Target& target,
                                         std::span<const FunctionPlan> functions,
                                         const std::vector<Candidate>& candidates) {
  constexpr std::array<std::int64_t, 9> planned_for = {16, 64, 128, 256, 512, 1024, 2048, 4096, 16384};
  constexpr std::int64_t largest = 65536;
  const std::int64_t least = least_size(problem);
  std::vector<Candidate> all;
  const auto add = [&](const Candidate& candidate) {
    const auto same = [&](const Candidate& other) { return is_same(candidate, other); };
    if (!candidate.refusal && std::ranges::none_of(all, same)) all.push_back(candidate);
  };
  for (const Candidate& candidate : candidates) add(candidate);
  for (const std::int64_t extent : planned_for) {
    const Problem sized = at_size(problem, extent * least);
    for (const Variant& variant : pattern_of(problem).variants) {
      add(with_shape_for(sized, spec, problem, target, functions, variant));
    }
  }
  std::vector<std::vector<double>> times(all.size());
  for (std::int64_t extent = 1; extent <= largest; extent *= 2) {
    const Problem sized = at_size(problem, extent * least);
    for (std::size_t i = 0; i < all.size(); ++i) times[i].push_back(time_of(all[i], sized, target));
  }
  std::vector<Candidate> few;
  for (const std::size_t chosen : few_of(times)) few.push_back(all[chosen]);
  return few;
}

std::string up_to_words(const Problem& problem, std::int64_t up_to) {
  if (pattern_of(problem).product == nullptr) return "up to " + std::to_string(up_to) + " elements";
  return "up to " + problem.dynamic_extents().back() + " = " + std::to_string(up_to / least_size(problem));
}

void choose_by_size(const Problem& problem, const BestAt& best_at, Chosen& chosen) {
  const std::vector<Range> ranges = ranges_of(problem, best_at);
  if (ranges.size() == 1) return chosen.take(*ranges.front().candidate, "fastest at every size");
  chosen.variant = "by_size";
  chosen.reason = words_of(problem, ranges);
  Joiner joiner(chosen);
  for (const Range& range : ranges) joiner.add(range);
}

}  // namespace irisgen
