#pragma once

#include <gtest/gtest.h>

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

inline void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace iris::test
