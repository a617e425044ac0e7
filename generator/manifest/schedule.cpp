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

bool uses(const Schedule& schedule, std::string_view buffer) {
  return std::ranges::any_of(schedule.steps, [&](const Step& step) {
    if (const auto* launch = std::get_if<LaunchStep>(&step.action))
      return std::ranges::count(launch->buffers, buffer) > 0;
    const auto* copy = std::get_if<CopyStep>(&step.action);
    return copy != nullptr && (copy->from == buffer || copy->to == buffer);
  });
}

/// Over the schedules that `takes_part` holds for.
template <typename TakesPart>
std::int64_t largest_length_of(std::span<const Schedule> schedules, std::string_view extent, TakesPart takes_part) {
  std::int64_t largest = 0;
  for (const Schedule& schedule : schedules) {
    if (!takes_part(schedule)) continue;
    const auto bound = std::ranges::find(schedule.bounds, extent, &Bound::extent);
    largest = std::max(largest, bound == schedule.bounds.end() ? every_size : bound->up_to);
  }
  return largest;
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

std::int64_t least_size(std::span<const Schedule> schedules, std::size_t kernel) {
  std::int64_t taken = -1;  // by those before, of any length
  for (const Schedule& schedule : schedules) {
    if (launches(schedule, kernel)) return taken + 1;
    if (schedule.bounds.empty()) taken = std::max(taken, schedule.up_to);
  }
  return 0;
}

std::int64_t largest_length(std::span<const Schedule> schedules, std::size_t kernel, std::string_view extent) {
  return largest_length_of(schedules, extent, [&](const Schedule& schedule) { return launches(schedule, kernel); });
}

std::int64_t largest_length(std::span<const Schedule> schedules, const Intermediate& buffer, std::string_view extent) {
  return largest_length_of(schedules, extent, [&](const Schedule& schedule) { return uses(schedule, buffer.name); });
}

}  // namespace iris
