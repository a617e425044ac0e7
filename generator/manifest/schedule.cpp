#include <algorithm>

#include "iris/manifest.hpp"

namespace iris {
namespace {

bool launches(const Schedule& schedule, std::size_t kernel) {
  return std::ranges::any_of(schedule.steps, [&](const Step& step) {
    const auto* launch = std::get_if<LaunchStep>(&step.action);
    return launch != nullptr && static_cast<std::size_t>(launch->kernel) == kernel;
  });
}

}  // namespace

bool takes(const Bound& bound, std::int64_t length) {
  return length <= bound.up_to && (bound.multiple_of == 1 || (length > 0 && length % bound.multiple_of == 0));
}

std::int64_t largest_size(std::span<const Schedule> schedules, std::size_t kernel) {
  std::int64_t largest = 0;
  for (const Schedule& schedule : schedules) {
    if (launches(schedule, kernel)) largest = std::max(largest, schedule.up_to);
  }
  return largest;
}

std::int64_t largest_length(std::span<const Schedule> schedules, std::size_t kernel, std::string_view extent) {
  std::int64_t largest = 0;
  for (const Schedule& schedule : schedules) {
    if (!launches(schedule, kernel)) continue;
    const auto bound = std::ranges::find(schedule.bounds, extent, &Bound::extent);
    largest = std::max(largest, bound == schedule.bounds.end() ? every_size : bound->up_to);
  }
  return largest;
}

}  // namespace iris
