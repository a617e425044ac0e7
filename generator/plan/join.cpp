#include "generator/plan/join.hpp"

#include <algorithm>
#include <utility>

namespace irisgen {

void add_draft(Draft& joined, const Draft& draft, const std::string& name) {
  for (const iris::Intermediate& buffer : draft.intermediates) {
    // Another config of the same variant has the same buffers, and only one of the two is under way.
    const auto same = std::ranges::find(joined.intermediates, buffer.name, &iris::Intermediate::name);
    if (same == joined.intermediates.end()) joined.intermediates.push_back(buffer);
  }
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
  for (KernelPlan kernel : draft.kernels) {
    kernel.part = name + (kernel.part.empty() ? "" : "_" + kernel.part);
    joined.kernels.push_back(std::move(kernel));
  }
}

namespace {

void narrow(iris::Schedule& schedule, const iris::Bound& multiples) {
  const auto known = std::ranges::find(schedule.bounds, multiples.extent, &iris::Bound::extent);
  if (known == schedule.bounds.end()) {
    schedule.bounds.push_back(multiples);
  } else {
    known->multiple_of = multiples.multiple_of;
  }
}

void add_schedules(Chosen& joined, const Chosen& chosen, const std::vector<iris::Bound>& multiples,
                   const std::string& name) {
  const auto kernels_before = static_cast<int>(joined.draft.kernels.size());
  add_draft(joined.draft, chosen.draft, name);
  for (iris::Schedule schedule : chosen.schedules) {
    for (iris::Step& step : schedule.steps) move_kernels(step, kernels_before);
    for (const iris::Bound& each : multiples) narrow(schedule, each);
    joined.schedules.push_back(std::move(schedule));
  }
}

}  // namespace

Chosen join_by_rows(const Chosen& of_multiples, const std::vector<iris::Bound>& multiples, Chosen others) {
  Chosen joined;
  joined.variant = of_multiples.variant == others.variant ? others.variant : "by_rows";
  joined.deterministic = of_multiples.deterministic && others.deterministic;
  joined.reason = of_multiples.reason;
  if (others.reason != joined.reason) joined.reason += "; where rows are no multiple of 16 bytes: " + others.reason;
  add_schedules(joined, of_multiples, multiples, "whole_rows");
  add_schedules(joined, others, {}, "any_rows");
  joined.alternatives = std::move(others.alternatives);
  joined.measured_at = std::move(others.measured_at);
  joined.prediction = std::move(others.prediction);
  return joined;
}

}  // namespace irisgen
