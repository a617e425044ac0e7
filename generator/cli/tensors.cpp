#include "generator/cli/tensors.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "generator/cli/assignments.hpp"
#include "generator/cli/files.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "generator/language/join.hpp"
#include "iris/npy.hpp"

namespace irisgen::cli {
namespace {

namespace fs = std::filesystem;
using Shape = std::vector<std::int64_t>;

/// The inputs are what is read or updated, the outputs what is written or updated.
enum class Side { input, output };

bool is_on(Side side, const iris::Argument& argument) {
  return argument.access != (side == Side::input ? iris::Access::write : iris::Access::read);
}

const iris::Argument& argument_named(const Plan& plan, const std::string& name, Side side) {
  std::vector<std::string_view> names;
  for (const iris::Argument& argument : plan.arguments) {
    if (!is_on(side, argument)) continue;
    if (argument.name == name) return argument;
    names.push_back(argument.name);
  }
  throw UsageError(plan.name + " has no " + (side == Side::input ? "input" : "output") + " named '" + name + "'" +
                   suggestion(name, names));
}

/// Learns the unknown extents of an argument from a file's shape, where it divides.
void learn(const iris::Argument& argument, Shape shape, iris::Extents& extents) {
  if (shape.size() + 1 == argument.shape.size()) shape.insert(shape.begin(), 1);
  if (shape.size() != argument.shape.size()) return;
  for (std::size_t index = 0; index < shape.size(); ++index) {
    const iris::Dimension& dimension = argument.shape[index];
    if (dimension.extent.empty() || extents.find(dimension.extent)) continue;
    const std::int64_t scaled = (shape[index] - dimension.offset) * dimension.divisor;
    if (scaled % dimension.factor == 0) {
      extents.set(dimension.extent, scaled / dimension.factor);
    }
  }
}

void take_given_extents(const Plan& plan, const Assignments& given, iris::Extents& extents) {
  for (const auto& [name, text] : given) {
    if (is_dynamic(plan.problem, name)) extents.set(name, parse_extent(name, text));
  }
}

void require_extents(const Plan& plan, const iris::Extents& extents) {
  for (const std::string& name : plan.problem.dynamic_extents()) {
    if (extents.find(name)) continue;
    std::string problem = plan.name;
    problem.append("'s ").append(name).append(" is dynamic: give --extent ").append(name);
    throw UsageError(problem.append("=NUMBER, or an --input whose shape tells"));
  }
}

/// Better known before kernels are compiled than at their launch.
void require_division(const Plan& plan, const Assignments& given, const iris::Extents& extents) {
  for (const iris::Argument& argument : plan.arguments) {
    for (const iris::Dimension& dimension : argument.shape) {
      const std::string& name = dimension.extent;
      if (!given.contains(name) || extents.at(name) % dimension.divisor == 0) continue;
      throw UsageError("--extent " + name + "=" + given.at(name) + ": " + plan.name + " takes multiples of " +
                       std::to_string(dimension.divisor) + ", since '" + argument.name +
                       "' is divided among the ranks");
    }
  }
}

void require_shape(const std::string& path, const iris::Argument& argument, const Shape& found, const Shape& expected) {
  if (found == expected || found == shown_shape(expected)) return;
  throw std::runtime_error(path + ": '" + argument.name + "' must have the shape " + shape_text(shown_shape(expected)) +
                           ", but the file's is " + shape_text(found));
}

void require_file_per_rank(const Plan& plan, const std::string& name, const std::string& pattern) {
  if (plan.problem.world == 1 || pattern != iris::path_of_rank(pattern, 0)) return;
  throw UsageError("--output " + name + "=" + pattern + " needs {rank} in its name: there are " +
                   std::to_string(plan.problem.world) + " ranks");
}

/// Better known before the work than after it.
void require_folder(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  if (folder.empty() || fs::is_directory(folder)) return;
  throw UsageError("--output " + file + ": there is no folder " + folder.string() + "; make it first");
}

}  // namespace

Inputs read_inputs(const Plan& plan, const Assignments& patterns, const Assignments& extents) {
  iris::Extents found = plan.problem.static_extents();
  take_given_extents(plan, extents, found);
  std::map<std::string, std::vector<iris::NpyArray>> files;
  for (const auto& [name, pattern] : patterns) {
    const iris::Argument& argument = argument_named(plan, name, Side::input);
    for (int rank = 0; rank < plan.problem.world; ++rank) {
      files[name].push_back(iris::read_npy(iris::path_of_rank(pattern, rank), argument.dtype));
      learn(argument, files[name].back().shape, found);
    }
  }
  require_extents(plan, found);
  require_division(plan, extents, found);

  Inputs inputs;
  inputs.extents = found;
  for (auto& [name, arrays] : files) {
    const iris::Argument& argument = argument_named(plan, name, Side::input);
    const Shape expected = iris::shape_of(argument.shape, found);
    for (int rank = 0; rank < plan.problem.world; ++rank) {
      iris::NpyArray& array = arrays[static_cast<std::size_t>(rank)];
      require_shape(iris::path_of_rank(patterns.at(name), rank), argument, array.shape, expected);
      inputs.buffers[name].push_back(std::move(array.bytes));
    }
  }
  return inputs;
}

void check_output_patterns(const Plan& plan, const Assignments& patterns, const Assignments& inputs) {
  std::vector<fs::path> input_files;
  for (const auto& [name, pattern] : inputs) {
    for (int rank = 0; rank < plan.problem.world; ++rank) input_files.emplace_back(iris::path_of_rank(pattern, rank));
  }
  for (const auto& [name, pattern] : patterns) {
    argument_named(plan, name, Side::output);
    require_file_per_rank(plan, name, pattern);
    for (int rank = 0; rank < plan.problem.world; ++rank) {
      const std::string file = iris::path_of_rank(pattern, rank);
      require_folder(file);
      check_named_file({"--output", file, iris::is_npy}, input_files);
    }
  }
}

Shape shown_shape(const Shape& shape) {
  return shape.size() == 2 && shape[0] == 1 ? Shape{shape[1]} : shape;
}

void write_outputs(const Plan& plan, const Assignments& patterns, const iris::RunReport& report) {
  for (const auto& [name, pattern] : patterns) {
    const iris::Argument& argument = argument_named(plan, name, Side::output);
    const auto output = std::ranges::find(report.outputs, name, &iris::RunOutput::name);
    for (int rank = 0; rank < plan.problem.world; ++rank) {
      iris::write_npy(iris::path_of_rank(pattern, rank),
                      {argument.dtype, shown_shape(output->shape), output->content.at(static_cast<std::size_t>(rank))});
    }
  }
}

std::string place_in(const Shape& shape, std::int64_t index) {
  std::vector<std::string> places;
  for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
    if (*extent == 0) return "[]";
    places.push_back(std::to_string(index % *extent));
    index /= *extent;
  }
  std::reverse(places.begin(), places.end());
  return "[" + join(places) + "]";
}

std::string shape_text(const Shape& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "(" + join(extents) + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace irisgen::cli
