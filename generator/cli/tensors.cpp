#include "generator/cli/tensors.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"
#include "iris/npy.hpp"

namespace irisgen::cli {
namespace {

namespace fs = std::filesystem;
using Shape = std::vector<std::int64_t>;

constexpr std::string_view rank_marker = "{rank}";

std::vector<std::string_view> names_of(const Manifest& manifest, Access access) {
  std::vector<std::string_view> names;
  for (const Argument& argument : manifest.arguments) {
    if (argument.access == access) names.push_back(argument.name);
  }
  return names;
}

const Argument& argument_named(const Manifest& manifest, const std::string& name, Access access) {
  for (const Argument& argument : manifest.arguments) {
    if (argument.name == name && argument.access == access) return argument;
  }
  throw UsageError(manifest.name + " has no " + (access == Access::read ? "input" : "output") + " named '" + name +
                   "'" + suggestion(name, names_of(manifest, access)));
}

/// The extents of a launch while they are being found.
class ExtentFinder {
 public:
  explicit ExtentFinder(const Manifest& manifest) {
    for (const char name : {'m', 'n', 'k'}) {
      const Extent& extent = declared(manifest, name);
      if (!extent.dynamic) of(name) = extent.value;
    }
  }

  std::optional<std::int64_t>& of(char name) { return name == 'm' ? m_ : name == 'n' ? n_ : k_; }

  /// Learns the unknown extents of an argument from a file's shape, where it divides.
  void learn(const Argument& argument, Shape shape) {
    if (shape.size() + 1 == argument.shape.size()) shape.insert(shape.begin(), 1);
    if (shape.size() != argument.shape.size()) return;
    for (std::size_t index = 0; index < shape.size(); ++index) {
      const auto& dimension = argument.shape[index];
      auto& extent = of(dimension.extent);
      const std::int64_t scaled = shape[index] * dimension.divisor;
      if (!extent && scaled % dimension.factor == 0) extent = scaled / dimension.factor;
    }
  }

  /// Once every extent is known.
  Shape shape_of(const Argument& argument) const {
    return irisgen::shape_of(argument, m_.value_or(0), n_.value_or(0), k_.value_or(0));
  }

  iris::LaunchExtents extents() const { return {m_, n_, k_}; }

  static const Extent& declared(const Manifest& manifest, char name) {
    return name == 'm' ? manifest.m : name == 'n' ? manifest.n : manifest.k;
  }

 private:
  std::optional<std::int64_t> m_, n_, k_;
};

std::int64_t parse_extent(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0 || text.empty()) {
    throw UsageError("--extent " + name + " takes a whole number that is not negative, not '" + text + "'");
  }
  return value;
}

void take_given_extents(const Manifest& manifest, const Assignments& given, ExtentFinder& finder) {
  for (const auto& [name, text] : given) {
    if (name != "m" && name != "n" && name != "k") throw UsageError("--extent takes m, n or k, not '" + name + "'");
    if (!ExtentFinder::declared(manifest, name[0]).dynamic) {
      throw UsageError(manifest.name + "'s " + name + " is fixed by its specification, not `dynamic`");
    }
    finder.of(name[0]) = parse_extent(name, text);
  }
}

void require_extents(const Manifest& manifest, ExtentFinder& finder) {
  for (const char name : {'m', 'n', 'k'}) {
    if (finder.of(name)) continue;
    throw UsageError(manifest.name + "'s " + name + " is dynamic: give --extent " + name +
                     "=NUMBER, or an --input whose shape tells");
  }
}

void require_shape(const std::string& path, const Argument& argument, const Shape& found, const Shape& expected) {
  if (found == expected || found == shown_shape(expected)) return;
  throw std::runtime_error(path + ": '" + argument.name + "' must have the shape " + shape_text(shown_shape(expected)) +
                           ", but the file's is " + shape_text(found));
}

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

void require_file_per_rank(const Manifest& manifest, const std::string& name, const std::string& pattern) {
  if (manifest.world == 1 || pattern.find(rank_marker) != std::string::npos) return;
  throw UsageError("--output " + name + "=" + pattern + " needs {rank} in its name: there are " +
                   std::to_string(manifest.world) + " ranks");
}

/// Better known before the work than after it.
void require_folder(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  if (folder.empty() || fs::is_directory(folder)) return;
  throw UsageError("--output " + file + ": there is no folder " + folder.string() + "; make it first");
}

}  // namespace

Assignments parse_assignments(const std::string& option, const std::vector<std::string>& texts) {
  Assignments assignments;
  for (const std::string& text : texts) add_assignment(assignments, option, text);
  return assignments;
}

std::string path_of_rank(std::string pattern, int rank) {
  const std::string digits = std::to_string(rank);
  for (auto at = pattern.find(rank_marker); at != std::string::npos; at = pattern.find(rank_marker, at)) {
    pattern.replace(at, rank_marker.size(), digits);
  }
  return pattern;
}

Inputs read_inputs(const Manifest& manifest, const Assignments& patterns, const Assignments& extents) {
  ExtentFinder finder(manifest);
  take_given_extents(manifest, extents, finder);
  std::map<std::string, std::vector<iris::NpyArray>> files;
  for (const auto& [name, pattern] : patterns) {
    const Argument& argument = argument_named(manifest, name, Access::read);
    for (int rank = 0; rank < manifest.world; ++rank) {
      files[name].push_back(iris::read_npy(path_of_rank(pattern, rank), argument.dtype));
      finder.learn(argument, files[name].back().shape);
    }
  }
  require_extents(manifest, finder);

  Inputs inputs;
  inputs.extents = finder.extents();
  for (auto& [name, arrays] : files) {
    const Argument& argument = argument_named(manifest, name, Access::read);
    const Shape expected = finder.shape_of(argument);
    for (int rank = 0; rank < manifest.world; ++rank) {
      iris::NpyArray& array = arrays[static_cast<std::size_t>(rank)];
      require_shape(path_of_rank(patterns.at(name), rank), argument, array.shape, expected);
      inputs.buffers[name].push_back(std::move(array.bytes));
    }
  }
  return inputs;
}

void check_output_patterns(const Manifest& manifest, const Assignments& patterns) {
  for (const auto& [name, pattern] : patterns) {
    argument_named(manifest, name, Access::write);
    require_file_per_rank(manifest, name, pattern);
    for (int rank = 0; rank < manifest.world; ++rank) require_folder(path_of_rank(pattern, rank));
  }
}

Shape shown_shape(const Shape& shape) {
  return shape.size() == 2 && shape[0] == 1 ? Shape{shape[1]} : shape;
}

void write_outputs(const Manifest& manifest, const Assignments& patterns, const iris::RunReport& report) {
  for (const auto& [name, pattern] : patterns) {
    const Argument& argument = argument_named(manifest, name, Access::write);
    for (int rank = 0; rank < manifest.world; ++rank) {
      iris::write_npy(path_of_rank(pattern, rank),
                      {argument.dtype, shown_shape(report.shape), report.outputs.at(static_cast<std::size_t>(rank))});
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
