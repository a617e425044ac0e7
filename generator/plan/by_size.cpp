#include "generator/plan/by_size.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <set>
#include <string>

#include "generator/plan/join.hpp"

namespace irisgen {
namespace {

/// The size with all dynamic extents 1.
std::int64_t least_size(const Problem& problem) {
  iris::Extents extents;
  for (const std::string& name : problem.dynamic_extents()) extents.set(name, 1);
  return std::max<std::int64_t>(1, iris::size_of(problem, extents));
}

/// Of a product: the extent by whose length launches are told apart. Rows, where they are not known: that there are few
/// of them changes most.
std::string deciding_extent(const Problem& problem) {
  return problem.dynamic_extents().front();
}

iris::Extents nominal_extents(const Problem& problem) {
  iris::Extents extents;
  for (const std::string& name : problem.dynamic_extents())
    extents.set(name, round_up(nominal_extent, shards_of(problem, name)));
  return extents;
}

/// A product whose deciding extent is so long, and its other dynamic extents as nobody knows better.
Problem at_length(const Problem& problem, std::int64_t length) {
  iris::Extents extents = nominal_extents(problem);
  extents.set(deciding_extent(problem), length);
  return problem.at(extents);
}

/// Whether both come to the same kernels, however that was decided.
bool are_same(const Candidate& a, const Candidate& b) {
  const auto same = [](const KernelPlan& one, const KernelPlan& other) { return are_same(one, other); };
  return a.variant == b.variant && std::ranges::equal(a.draft.kernels, b.draft.kernels, same);
}

/// A range of sizes, of a product a range of lengths, and who serves it.
struct Range {
  const Candidate* candidate;
  std::int64_t up_to;
  std::int64_t longest = 0;  ///< of a product, the last length that was looked at
};

/// The largest size at which `candidate` is still the best, between one at which it is and one at which it is not.
std::int64_t last_size_of(const Candidate* candidate, std::int64_t good, std::int64_t bad, const Problem& problem,
                          const BestAt& best_at) {
  while (bad - good > 1 + good / 64) {
    const std::int64_t middle = good + (bad - good) / 2;
    (are_same(*best_at(at_size(problem, middle)).candidate, *candidate) ? good : bad) = middle;
  }
  return good;
}

constexpr std::int64_t largest_launch = std::int64_t{1} << 34;

/// Of a collective: who is best at which sizes, smallest first; at least one range.
std::vector<Range> ranges_of(const Problem& problem, const BestAt& best_at) {
  std::vector<Range> ranges;
  for (std::int64_t size = 1; size <= largest_launch; size *= 2) {
    const Candidate* best = best_at(at_size(problem, size)).candidate;
    if (!ranges.empty() && are_same(*ranges.back().candidate, *best)) continue;
    if (!ranges.empty()) {
      ranges.back().up_to = last_size_of(ranges.back().candidate, size / 2, size, problem, best_at);
    }
    ranges.push_back({best, iris::every_size});
  }
  return ranges;
}

/// Of which kernels hold less than of more.
constexpr std::int64_t few_rows = 64;

/// The m up to which a candidate's products have few rows, of which its stages could hold less; 0 where it has none.
std::int64_t end_of_few_rows(const Candidate& candidate) {
  for (const iris::Step& step : candidate.draft.steps) {
    const auto* launch = std::get_if<iris::LaunchStep>(&step.action);
    if (!launch) continue;
    for (const iris::MatrixMap& map : launch->maps) {
      if (map.last_of && map.last_of->extent == "m") return few_rows * map.last_of->divisor / map.last_of->factor;
    }
  }
  return 0;
}

/// Lengths of a product's deciding extent, smallest first: its time goes up in steps, where a tile more is needed, so
/// that each is the last before such a step, but the first; then, where steps are small, some of them. Where other
/// lengths are not known either, nor are the steps.
std::set<std::int64_t> lengths_of_products(const Problem& problem) {
  constexpr std::int64_t tile = 128;  // others divide it
  constexpr std::int64_t steps_of_their_own = 32;
  constexpr std::int64_t longest = std::int64_t{1} << 16;
  const bool knows_steps = problem.dynamic_extents().size() == 1;
  const std::int64_t shards = shards_of(problem, deciding_extent(problem));
  const std::int64_t step = tile * shards;
  std::set<std::int64_t> lengths;
  for (const std::int64_t few : {std::int64_t{1}, std::int64_t{16}, std::int64_t{32}, few_rows})
    lengths.insert({std::max(shards, few / shards * shards), few * shards});
  for (std::int64_t length = step; length <= longest;) {
    lengths.insert(length);
    if (!knows_steps) {
      length *= 2;
    } else {
      length += length < steps_of_their_own * step ? step : round_up(length / 8, step);
    }
  }
  return lengths;
}

/// The same of a product, by the model: whoever serves a size goes on until another one is faster by more than a
/// little, or until there are no longer few rows.
std::vector<Range> ranges_of_product(const Problem& problem, const Target& target, const BestAt& best_at) {
  constexpr double little = 1.05;
  std::vector<Range> ranges;
  std::int64_t size_before = 0;
  std::int64_t before = 0;
  bool last_is_measured = false;
  for (const std::int64_t length : lengths_of_products(problem)) {
    const Problem sized = at_length(problem, length);
    const std::int64_t size = iris::size_of(sized);
    if (!ranges.empty() && size <= size_before) break;  // another extent is 0, or sizes have ended
    const Best best = best_at(sized);
    const auto stays = [&](const Candidate& last) {
      if (are_same(last, *best.candidate)) return true;
      const bool by_model = !best.is_measured && !last_is_measured;
      return by_model && time_of(last, sized, target) <= little * time_of(*best.candidate, sized, target);
    };
    const auto ends_with_few_rows = [&](const Candidate& last) {
      const std::int64_t end = end_of_few_rows(last);
      return before <= end && length > end;
    };
    if (ranges.empty() || ends_with_few_rows(*ranges.back().candidate) || !stays(*ranges.back().candidate)) {
      if (!ranges.empty()) ranges.back().up_to = before;
      ranges.push_back({best.candidate, iris::every_size});
      last_is_measured = best.is_measured;
    }
    size_before = size;
    before = length;
    ranges.back().longest = length;
  }
  return ranges;
}

/// Makes one range of those that come to the same kernels.
void join_neighbours(std::vector<Range>& ranges) {
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && are_same(*joined.back().candidate, *range.candidate)) {
      joined.back().up_to = range.up_to;
    } else {
      joined.push_back(range);
    }
  }
  ranges = std::move(joined);
}

/// Joins the drafts of several candidates to one operation, each serving its sizes.
class Joiner {
 public:
  /// `deciding`: the extent whose lengths the ranges are of; empty: they are of sizes.
  Joiner(Chosen& chosen, std::string deciding) : chosen_(chosen), deciding_(std::move(deciding)) {}

  /// Returns the name that its kernels have.
  std::string add(const Range& range) {
    iris::Schedule schedule{iris::every_size, range.candidate->draft.steps};
    if (deciding_.empty()) {
      schedule.up_to = range.up_to;
    } else if (range.up_to != iris::every_size) {
      schedule.bounds = {{.extent = deciding_, .up_to = range.up_to}};
    }
    const auto same = [&](const Added& other) { return are_same(*other.candidate, *range.candidate); };
    const auto known = std::ranges::find_if(added_, same);
    if (known == added_.end()) {
      const std::string name = name_of(*range.candidate);
      added_.push_back(
          {range.candidate, name, add_draft(chosen_, without_variant(*range.candidate), {std::move(schedule)}, name)});
      return name;
    }
    for (iris::Step& step : schedule.steps) number_kernels(step, known->kernels);
    chosen_.schedules.push_back(std::move(schedule));
    return known->name;
  }

 private:
  struct Added {
    const Candidate* candidate;
    std::string name;
    std::vector<int> kernels;  ///< their numbers
  };

  /// Its draft, whose parts behind a prologue bear the variant's name already.
  static Draft without_variant(const Candidate& candidate) {
    const std::string_view variant = candidate.variant->name;
    Draft draft = candidate.draft;
    for (KernelPlan& kernel : draft.kernels) {
      if (kernel.part == variant) kernel.part.clear();
      if (kernel.part.starts_with(std::string(variant) + "_")) kernel.part.erase(0, variant.size() + 1);
    }
    return draft;
  }

  /// `chain`, and where it comes again with another config, `chain_2`.
  std::string name_of(const Candidate& candidate) const {
    const std::string name(candidate.variant->name);
    const auto same = [&](const Added& other) { return other.candidate->variant == candidate.variant; };
    const auto before = std::ranges::count_if(added_, same);
    return before == 0 ? name : name + "_" + std::to_string(before + 1);
  }

  Chosen& chosen_;
  std::string deciding_;
  std::vector<Added> added_;
};

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
  constexpr std::size_t most = 6;
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

std::int64_t shards_of(const Problem& problem, std::string_view extent) {
  std::int64_t shards = 1;
  for (const Argument& argument : pattern_of(problem).arguments(problem)) {
    for (const Dimension& dimension : argument.shape) {
      if (dimension.extent == extent) shards = std::max(shards, dimension.divisor);
    }
  }
  return shards;
}

Problem at_size(const Problem& problem, std::int64_t size) {
  const std::vector<std::string> names = problem.dynamic_extents();
  iris::Extents extents;
  for (const std::string& name : names) extents.set(name, 1);
  extents.set(names.back(), std::max<std::int64_t>(1, size / least_size(problem)));
  return problem.at(extents);
}

Problem at_nominal_size(const Problem& problem) {
  return problem.at(nominal_extents(problem));
}

std::vector<Candidate> few_for_all_sizes(const KernelSpec& spec, const Problem& problem, const Target& target,
                                         std::span<const FunctionPlan> functions,
                                         const std::vector<Candidate>& candidates) {
  constexpr std::array<std::int64_t, 14> planned_for = {16,  64,   128,  256,  384,  512,  640,
                                                        768, 1024, 1536, 2048, 3072, 4096, 16384};
  const std::int64_t shards = shards_of(problem, deciding_extent(problem));
  std::vector<Candidate> all;
  const auto add = [&](const Candidate& candidate) {
    const auto same = [&](const Candidate& other) { return are_same(candidate, other); };
    if (!candidate.refusal && std::ranges::none_of(all, same)) all.push_back(candidate);
  };
  for (const Candidate& candidate : candidates) add(candidate);
  for (const std::int64_t extent : planned_for) {
    const Problem sized = at_length(problem, round_up(extent, shards));
    for (const Variant& variant : pattern_of(problem).variants) {
      add(consider(spec, problem, target, spec.config, functions, variant, Launches{sized}));
    }
  }
  std::vector<std::vector<double>> times(all.size());
  for (const std::int64_t length : lengths_of_products(problem)) {
    const Problem sized = at_length(problem, length);
    for (std::size_t i = 0; i < all.size(); ++i) times[i].push_back(time_of(all[i], sized, target));
  }
  std::vector<Candidate> few;
  for (const std::size_t chosen : few_of(times)) few.push_back(all[chosen]);
  return few;
}

AtEverySize::AtEverySize(const KernelSpec& spec, const Problem& problem, const Target& target,
                         std::span<const FunctionPlan> functions, const std::vector<Candidate>& candidates)
    : spec_(spec), problem_(problem), target_(target), functions_(functions) {
  const Launches longest{.typical = at_size(problem, largest_launch)};
  for (const Candidate& candidate : candidates) {
    if (candidate.refusal) continue;
    const Candidate for_long = consider(spec, problem, target, spec.config, functions, *candidate.variant, longest);
    if (for_long.refusal || are_same(candidate, for_long)) {
      of_any_size_.push_back(candidate);
    } else {
      dependent_.push_back(candidate.variant);
    }
  }
}

const Candidate* AtEverySize::fastest_at(const Problem& sized) {
  const Candidate* best = fastest(of_any_size_, sized, target_);
  for (const Variant* variant : dependent_) {
    Candidate own = consider(spec_, problem_, target_, spec_.config, functions_, *variant, Launches{sized});
    if (own.refusal || (best && time_of(own, sized, target_) >= time_of(*best, sized, target_))) continue;
    best = &of_some_size_.emplace_back(std::move(own));
  }
  return best;
}

void choose_by_size(const KernelSpec& spec, const Problem& problem, const Target& target,
                    std::span<const FunctionPlan> functions, const BestAt& best_at, Chosen& chosen) {
  const bool is_product = pattern_of(problem).product != nullptr;
  std::vector<Range> ranges = is_product ? ranges_of_product(problem, target, best_at) : ranges_of(problem, best_at);
  std::deque<Candidate> of_few_rows;
  for (Range& range : ranges) {
    if (!is_product || deciding_extent(problem) != "m") continue;
    if (range.longest > end_of_few_rows(*range.candidate)) continue;
    const Launches launches = {.typical = at_length(problem, range.longest), .most_rows = range.longest};
    Candidate holding_less =
        consider(spec, problem, target, range.candidate->config, functions, *range.candidate->variant, launches);
    if (holding_less.refusal) continue;
    of_few_rows.push_back(std::move(holding_less));
    range.candidate = &of_few_rows.back();
  }
  join_neighbours(ranges);
  if (ranges.size() == 1) return chosen.take(*ranges.front().candidate, "fastest at every size");
  chosen.variant = "by_size";
  chosen.reason = "known only at launch:";
  const std::string deciding = is_product ? deciding_extent(problem) : "";
  Joiner joiner(chosen, deciding);
  for (const Range& range : ranges) {
    chosen.reason.append(&range == ranges.data() ? " " : ", ").append(joiner.add(range));
    if (range.up_to == iris::every_size) {
      chosen.reason += " above";
    } else {
      chosen.reason.append(" up to ").append(is_product ? deciding + " = " : "").append(std::to_string(range.up_to));
      if (!is_product) chosen.reason += " elements";
    }
  }
}

}  // namespace irisgen
