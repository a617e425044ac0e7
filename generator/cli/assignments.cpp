#include "generator/cli/assignments.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "generator/language/join.hpp"
#include "iris/bench.hpp"

namespace irisgen::cli {
namespace {

void add_assignment(Assignments& assignments, const std::string& option, const std::string& text) {
  const auto split = text.find('=');
  if (split == 0 || split == std::string::npos || split + 1 == text.size()) {
    throw UsageError(option + " takes NAME=VALUE, not '" + text + "'");
  }
  const std::string name = text.substr(0, split);
  if (!assignments.emplace(name, text.substr(split + 1)).second) {
    throw UsageError(option + " names '" + name + "' twice");
  }
}

std::vector<std::string> extent_names(const Problem& problem) {
  std::vector<std::string> names;
  names.reserve(problem.extents.size());
  for (const iris::NamedExtent& named : problem.extents) names.push_back(named.name);
  return names;
}

std::vector<std::int64_t> lengths_of(const std::string& name, const std::string& text) {
  try {
    return iris::parse_sizes(text);
  } catch (const std::invalid_argument& error) {
    throw UsageError("--extent " + name + ": " + error.what());
  }
}

}  // namespace

Assignments parse_assignments(const std::string& option, const std::vector<std::string>& texts) {
  Assignments assignments;
  for (const std::string& text : texts) add_assignment(assignments, option, text);
  return assignments;
}

bool is_dynamic(const Problem& problem, const std::string& extent) {
  const std::vector<std::string> dynamic = problem.dynamic_extents();
  return std::ranges::find(dynamic, extent) != dynamic.end();
}

void check_extents(const Spec& spec, const Assignments& given) {
  for (const auto& [name, text] : given) {
    const auto leaves_open = [&](const KernelSpec& kernel) { return is_dynamic(kernel.problem, name); };
    const auto has = [&](const KernelSpec& kernel) { return kernel.problem.has_extent(name); };
    if (std::ranges::any_of(spec.kernels, leaves_open)) continue;
    if (const auto fixed = std::ranges::find_if(spec.kernels, has); fixed != spec.kernels.end())
      throw UsageError(fixed->name + "'s " + name + " is fixed by its specification, not `dynamic`");
    const KernelSpec& kernel = spec.kernels.front();
    throw UsageError(kernel.name + " has no extent '" + name + "'; its extents are " +
                     join(extent_names(kernel.problem)));
  }
}

std::int64_t parse_extent(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0 || text.empty()) {
    throw UsageError("--extent " + name + " takes a whole number that is not negative, not '" + text + "'");
  }
  return value;
}

std::vector<Extents> extents_to_measure(const KernelSpec& kernel, const Assignments& given) {
  const std::vector<std::string> names = kernel.problem.dynamic_extents();
  const auto is_given = [&](const std::string& name) { return given.contains(name); };
  if (std::ranges::none_of(names, is_given)) return {};
  std::vector<Extents> all = {{}};
  for (const std::string& name : names) {
    if (!is_given(name)) {
      std::string problem = kernel.name;
      problem.append("'s ").append(name).append(" is dynamic, too: give --extent ").append(name).append("=NUMBER");
      throw UsageError(problem);
    }
    std::vector<Extents> longer;
    for (const Extents& extents : all) {
      for (const std::int64_t length : lengths_of(name, given.at(name))) {
        longer.push_back(extents);
        longer.back().set(name, length);
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace irisgen::cli
