#include "generator/plan/by_size.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace irisgen {
namespace {

/// The problem with its last dynamic extent such that it has about that size, and the others 1.
Problem at_size(const Problem& problem, std::int64_t size) {
  const std::vector<std::string> names = problem.dynamic_extents();
  iris::Extents extents;
  for (const std::string& name : names) extents.set(name, 1);
  const std::int64_t others = std::max<std::int64_t>(1, iris::size_of(problem, extents));
  extents.set(names.back(), std::max<std::int64_t>(1, size / others));
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
  constexpr std::int64_t largest = std::int64_t{1} << 34;
  std::vector<Range> ranges;
  for (std::int64_t size = 1; size <= largest; size *= 2) {
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

std::string words_of(const std::vector<Range>& ranges) {
  std::string words = "known only at launch:";
  for (const Range& range : ranges) {
    words.append(&range == ranges.data() ? " " : ", ").append(range.candidate->variant->name);
    words += range.up_to == iris::every_size ? " above" : " up to " + std::to_string(range.up_to) + " elements";
  }
  return words;
}

}  // namespace

void choose_by_size(const Problem& problem, const BestAt& best_at, Chosen& chosen) {
  const std::vector<Range> ranges = ranges_of(problem, best_at);
  if (ranges.size() == 1) return chosen.take(*ranges.front().candidate, "fastest at every size");
  chosen.variant = "by_size";
  chosen.reason = words_of(ranges);
  Joiner joiner(chosen);
  for (const Range& range : ranges) joiner.add(range);
}

}  // namespace irisgen
