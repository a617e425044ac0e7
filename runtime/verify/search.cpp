#include "runtime/verify/search.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

namespace iris {
namespace {

using irisgen::TuningCandidate;

/// A variant is hopeless if it is predicted to take so many times the fastest prediction: no model is that wrong.
constexpr double hopeless = 4;
/// Configurations are tried of variants whose own choice takes at most so many times the fastest own choice.
constexpr double near_enough = 1.3;
/// What the untuned choice must be undercut by, so that noise changes nothing.
constexpr double gain = 0.99;

constexpr int first_batches = 3;
constexpr std::size_t group = 4;      ///< candidates whose batches take turns
constexpr std::size_t finalists = 3;  ///< beside the untuned choice

std::string times_of(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", factor);
  return std::string(text) + " times";
}

class Search {
 public:
  Search(std::span<const TuningCandidate> candidates, CandidateBench& bench, const SearchOptions& options,
         TunedProblem& problem)
      : candidates_(candidates), bench_(bench), options_(options), problem_(problem) {
    for (const TuningCandidate& candidate : candidates) {
      problem_.candidates.push_back({.variant = candidate.variant,
                                     .config = candidate.config,
                                     .constants = candidate.constants,
                                     .predicted_us = candidate.plan.prediction.time_us});
    }
  }

  void run() {
    measure("own choices of variants", own_choices(), first_batches, candidates_.size());
    measure("configurations", configurations(), first_batches, group);
    const std::vector<std::size_t> last = fastest();
    if (last.size() > 1) time("the fastest again", last, options_.batches);
    choose();
  }

 private:
  TriedCandidate& tried(std::size_t index) { return problem_.candidates[index]; }
  bool is_own(std::size_t index) const { return candidates_[index].config.empty(); }

  /// Of each variant that there is hope for.
  std::vector<std::size_t> own_choices() {
    double least = std::numeric_limits<double>::infinity();
    for (const TriedCandidate& candidate : problem_.candidates) least = std::min(least, candidate.predicted_us);
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!is_own(i)) continue;
      if (tried(i).predicted_us <= hopeless * least) {
        own.push_back(i);
      } else {
        tried(i).why = "predicted to take " + times_of(tried(i).predicted_us / least) + " the fastest";
      }
    }
    return own;
  }

  /// Of the variants that are near the fastest.
  std::vector<std::size_t> configurations() {
    double least = std::numeric_limits<double>::infinity();
    for (const TriedCandidate& candidate : problem_.candidates) {
      if (candidate.time_us > 0) least = std::min(least, candidate.time_us);
    }
    std::vector<std::size_t> all;
    std::size_t own = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (is_own(i)) {
        own = i;
      } else if (tried(own).time_us == 0) {
        tried(i).why = "the variant's own choice was not measured";
      } else if (tried(own).time_us > near_enough * least) {
        tried(i).why = "the variant's own choice took " + times_of(tried(own).time_us / least) + " the fastest";
      } else {
        all.push_back(i);
      }
    }
    return all;
  }

  void measure(std::string_view doing, const std::vector<std::size_t>& wanted, int batches, std::size_t at_once) {
    for (std::size_t first = 0; first < wanted.size(); first += at_once) {
      const std::size_t count = std::min(at_once, wanted.size() - first);
      const std::vector<std::size_t> some(wanted.begin() + static_cast<std::ptrdiff_t>(first),
                                          wanted.begin() + static_cast<std::ptrdiff_t>(first + count));
      if (options_.out_of_time && options_.out_of_time()) {
        for (const std::size_t index : some) tried(index).why = "no time was left";
        problem_.complete = false;
        continue;
      }
      time(doing, verified(doing, some), batches);
    }
  }

  std::vector<const TuningCandidate*> those(const std::vector<std::size_t>& indices) const {
    std::vector<const TuningCandidate*> some;
    some.reserve(indices.size());
    for (const std::size_t index : indices) some.push_back(&candidates_[index]);
    return some;
  }

  std::vector<std::size_t> verified(std::string_view doing, const std::vector<std::size_t>& indices) {
    if (options_.progress) options_.progress(doing, static_cast<int>(indices.size()));
    const std::vector<std::string> problems = bench_.verify(those(indices));
    std::vector<std::size_t> right;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (problems[i].empty()) {
        right.push_back(indices[i]);
      } else {
        tried(indices[i]).why = problems[i];
        tried(indices[i]).failed = true;
      }
    }
    return right;
  }

  void time(std::string_view doing, const std::vector<std::size_t>& indices, int batches) {
    if (indices.empty()) return;
    if (options_.progress) options_.progress(doing, static_cast<int>(indices.size()));
    const std::vector<CandidateBench::Timing> timings = bench_.time(those(indices), batches);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      tried(indices[i]).time_us = timings[i].time_us;
      tried(indices[i]).why = timings[i].why;
      tried(indices[i]).failed = !timings[i].why.empty();
    }
  }

  /// The few fastest, and the untuned choice.
  std::vector<std::size_t> fastest() {
    std::vector<std::size_t> measured;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (tried(i).time_us > 0) measured.push_back(i);
    }
    std::ranges::sort(measured, {}, [this](std::size_t index) { return std::pair(tried(index).time_us, index); });
    std::vector<std::size_t> few(measured.begin(),
                                 measured.begin() + static_cast<std::ptrdiff_t>(std::min(finalists, measured.size())));
    const bool has_untuned = std::ranges::find(few, std::size_t{0}) != few.end();
    if (!has_untuned && tried(0).time_us > 0) few.push_back(0);
    last_ = few;
    return few;
  }

  void choose() {
    for (const std::size_t index : last_) {
      if (tried(index).failed) continue;
      const double time_us = tried(index).time_us;
      if (problem_.best < 0 || time_us < tried(static_cast<std::size_t>(problem_.best)).time_us) {
        problem_.best = static_cast<int>(index);
      }
    }
    if (problem_.best < 0 || tried(0).time_us == 0 || tried(0).failed) return;
    if (tried(static_cast<std::size_t>(problem_.best)).time_us > gain * tried(0).time_us) problem_.best = 0;
  }

  std::span<const TuningCandidate> candidates_;
  CandidateBench& bench_;
  const SearchOptions& options_;
  TunedProblem& problem_;
  std::vector<std::size_t> last_;
};

}  // namespace

void search(std::span<const TuningCandidate> candidates, CandidateBench& bench, const SearchOptions& options,
            TunedProblem& problem) {
  Search(candidates, bench, options, problem).run();
}

}  // namespace iris
