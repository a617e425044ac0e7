#pragma once

#include <span>
#include <string_view>

namespace irisgen {

struct Resource {
  std::string_view path;
  std::string_view text;
};

/// Sorted by path. Defined by the source that cmake/EmbedResources.cmake generates.
std::span<const Resource> resource_table();

}  // namespace irisgen
