#pragma once

#include <exception>
#include <string>

namespace iris::test {

/// What a call throws, in words; empty if it does not.
template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace iris::test
