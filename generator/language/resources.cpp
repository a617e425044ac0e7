#include "generator/language/resources.hpp"

#include <algorithm>
#include <span>

#include "generator/language/resource_table.hpp"

namespace irisgen {

std::optional<std::string_view> resource(std::string_view path) {
  const std::span<const Resource> table = resource_table();
  const auto found = std::ranges::lower_bound(table, path, {}, &Resource::path);
  if (found == table.end() || found->path != path) return std::nullopt;
  return found->text;
}

std::vector<std::string_view> resource_paths(std::string_view prefix) {
  std::vector<std::string_view> paths;
  for (const Resource& entry : resource_table()) {
    if (entry.path.starts_with(prefix)) paths.push_back(entry.path);
  }
  return paths;
}

}  // namespace irisgen
