#pragma once

#include <cstdint>
#include <optional>

namespace iris {

/// Bytes that this process may still map (ulimit -v); nothing where there is no limit, or it cannot be told.
std::optional<std::uint64_t> address_space_left();

}  // namespace iris
