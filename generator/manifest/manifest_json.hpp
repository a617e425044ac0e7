#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "iris/manifest.hpp"

/// What the writer of a manifest's JSON and its reader share.
namespace iris {

/// Of Access, in its order.
inline constexpr std::array<std::string_view, 3> access_names = {"read", "write", "update"};

/// The `access` of a scalar among the arguments.
inline constexpr std::string_view value_access = "value";

/// Of BlockIndex, in its order.
inline constexpr std::array<std::string_view, 3> block_names = {"first", "rank", "peer"};

/// Of InPlace, in its order.
inline constexpr std::array<std::string_view, 3> in_place_names = {"no", "same_buffer", "own_block"};

/// An `up_to`: null where it is every_size.
nlohmann::ordered_json json_of_limit(std::int64_t up_to);

/// All of a manifest's JSON but the checksum.
nlohmann::ordered_json content_of(const Manifest& manifest);

/// Over what is said, however it is laid out.
std::string checksum_of(const nlohmann::ordered_json& content);

}  // namespace iris
