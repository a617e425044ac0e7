#include "generator/plan/join.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

namespace irisgen {
namespace {

/// Kernels whose flags copies bring to one another: launches of one count as launches of the other.
std::set<int> signalled(std::span<const iris::Schedule> schedules) {
  std::set<int> kernels;
  for (const iris::Schedule& schedule : schedules) {
    for (const iris::Step& step : schedule.steps) {
      const auto* signal = std::get_if<iris::SignalStep>(&step.action);
      if (signal) kernels.insert({signal->from.kernel, signal->to.kernel});
    }
  }
  return kernels;
}

/// Another config of the same variant has the same buffers, and only one of the two is under way; one may have more
/// use for the heap.
void add_intermediates(Draft& joined, const Draft& draft) {
  for (const iris::Intermediate& buffer : draft.intermediates) {
    const auto same = std::ranges::find(joined.intermediates, buffer.name, &iris::Intermediate::name);
    if (same == joined.intermediates.end()) {
      joined.intermediates.push_back(buffer);
    } else if (same->dtype == buffer.dtype && same->shape == buffer.shape) {
      same->symmetric = same->symmetric || buffer.symmetric;
    } else {
      throw std::logic_error("two buffers '" + buffer.name + "' of one operation differ");
    }
  }
}

void add_arguments(Draft& joined, const Draft& draft) {
  if (joined.kernels.empty()) {
    joined.arguments = draft.arguments;
    joined.in_place = draft.in_place;
  }
  if (joined.in_place != draft.in_place) joined.in_place = InPlace::no;
  for (std::size_t i = 0; i < draft.arguments.size(); ++i) {
    Argument& argument = joined.arguments.at(i);
    argument.alignment = std::max(argument.alignment, draft.arguments[i].alignment);
    argument.symmetric = argument.symmetric || draft.arguments[i].symmetric;
  }
}

std::vector<int> add_kernels(Chosen& joined, const Draft& draft, const std::set<int>& signalled_of_draft,
                             const std::string& name) {
  std::vector<KernelPlan>& kernels = joined.draft.kernels;
  const std::set<int> signalled_of_joined = signalled(joined.schedules);
  const auto others = static_cast<int>(kernels.size());
  std::vector<int> numbers;
  for (KernelPlan kernel : draft.kernels) {
    const auto serves = [&](int other) {
      return !signalled_of_joined.contains(other) && are_same(kernels[static_cast<std::size_t>(other)], kernel);
    };
    const bool is_apart = signalled_of_draft.contains(static_cast<int>(numbers.size()));
    int number = 0;
    while (number < others && (is_apart || !serves(number))) ++number;
    if (number == others) {
      kernel.part = name + (kernel.part.empty() ? "" : "_" + kernel.part);
      number = static_cast<int>(kernels.size());
      kernels.push_back(std::move(kernel));
    }
    numbers.push_back(number);
  }
  return numbers;
}

void narrow(iris::Schedule& schedule, const iris::Bound& multiples) {
  const auto known = std::ranges::find(schedule.bounds, multiples.extent, &iris::Bound::extent);
  if (known == schedule.bounds.end()) {
    schedule.bounds.push_back(multiples);
  } else {
    known->multiple_of = multiples.multiple_of;
  }
}

}  // namespace

bool are_same(const KernelPlan& one, const KernelPlan& other) {
  const auto same_constant = [](const Constant& a, const Constant& b) {
    return a.name == b.name && a.value == b.value;
  };
  const auto same_function = [](const FunctionPlan& a, const FunctionPlan& b) { return a.role == b.role; };
  return one.problem == other.problem && one.variant == other.variant && one.template_path == other.template_path &&
         one.source == other.source && std::ranges::equal(one.functions, other.functions, same_function) &&
         std::ranges::equal(one.constants, other.constants, same_constant) && one.arguments == other.arguments &&
         one.launch_number == other.launch_number && one.waits == other.waits &&
         one.waits_for_ranks == other.waits_for_ranks && one.flags == other.flags && one.workspace == other.workspace &&
         one.maps == other.maps && one.tiles == other.tiles;
}

std::vector<int> add_draft(Chosen& joined, const Draft& draft, std::vector<iris::Schedule> schedules,
                           const std::string& name) {
  add_intermediates(joined.draft, draft);
  add_arguments(joined.draft, draft);
  std::vector<int> numbers = add_kernels(joined, draft, signalled(schedules), name);
  for (iris::Schedule& schedule : schedules) {
    for (iris::Step& step : schedule.steps) number_kernels(step, numbers);
    joined.schedules.push_back(std::move(schedule));
  }
  return numbers;
}

Chosen join_by_rows(const Chosen& of_multiples, const std::vector<iris::Bound>& multiples, Chosen others) {
  Chosen joined;
  joined.variant = of_multiples.variant == others.variant ? others.variant : "by_rows";
  joined.deterministic = of_multiples.deterministic && others.deterministic;
  joined.reason = of_multiples.reason;
  if (others.reason != joined.reason) joined.reason += "; where rows are no multiple of 16 bytes: " + others.reason;
  std::vector<iris::Schedule> narrowed = of_multiples.schedules;
  for (iris::Schedule& schedule : narrowed) {
    for (const iris::Bound& each : multiples) narrow(schedule, each);
  }
  add_draft(joined, of_multiples.draft, std::move(narrowed), "whole_rows");
  add_draft(joined, others.draft, std::move(others.schedules), "any_rows");
  joined.alternatives = std::move(others.alternatives);
  joined.measured_at = std::move(others.measured_at);
  joined.prediction = std::move(others.prediction);
  return joined;
}

}  // namespace irisgen
