#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace irisgen {

/// The text of a file that the build embedded (cmake/EmbedResources.cmake): schemas/*.json,
/// generator/plan/tuning/*.json and templates/**.hip by the path from the project's root, as in
/// "templates/all_reduce/two_shot.hip", and device/'s headers as they are included, "iris/device/pack.hpp". Lives as
/// long as the program.
std::optional<std::string_view> resource(std::string_view path);

/// Every embedded path that starts with `prefix`, sorted.
std::vector<std::string_view> resource_paths(std::string_view prefix);

}  // namespace irisgen
