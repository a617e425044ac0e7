#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "generator/language/document.hpp"

namespace irisgen {

/// What a plain (unquoted) scalar stands for.
struct Scalar {
  decltype(Value::content) content;
  std::string error;  ///< why there is no value: content is Invalid then
};

/// Resolves by YAML 1.2's core schema: null, true, integers (decimal, 0o octal, 0x hexadecimal), floats; all else is a
/// string. An error: integers beyond 64 bits, floats that are not finite, and decimals with a leading zero, which
/// YAML 1.1 reads as octal and JSON forbids.
Scalar resolve_plain(std::string_view text);

}  // namespace irisgen
