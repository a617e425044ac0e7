#pragma once

#include <string>
#include <string_view>

namespace iris {

/// SHA-256 (FIPS 180-4) of `bytes`, as 64 lower-case hexadecimal digits. Names content in manifests and in the cache.
std::string sha256_hex(std::string_view bytes);

}  // namespace iris
