#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "iris/compiler.hpp"

/// Sources for tests of the compilers: small, and with nothing of device/.
namespace iris::samples {

inline const std::string attributes = R"(
#ifndef __global__
#define __global__ __attribute__((global))
#endif
#ifndef __shared__
#define __shared__ __attribute__((shared))
#endif
)";

/// `triple` multiplies in place; on a GPU it also has 64 floats of shared memory.
inline std::string good_source(irisgen::Platform platform) {
  if (platform == irisgen::Platform::host) return "extern \"C\" void triple(float* x) { *x *= 3; }\n";
  return attributes + R"(
extern "C" __global__ void triple(float* x) {
  __shared__ float held[64];
  held[63] = *x;
  *(volatile float*)x = 3 * *(volatile float*)&held[63];
}
)";
}

inline CompileRequest request(const irisgen::Target& target, std::string source) {
  return {.name = "sample.hip", .source = std::move(source), .symbol = "triple", .target = &target};
}

inline const Compiler* find_compiler(std::string_view name) {
  for (const auto& compiler : Compilers::instance().present) {
    if (compiler->name() == name) return compiler.get();
  }
  return nullptr;
}

inline std::string why_missing(std::string_view name) {
  for (const MissingCompiler& missing : Compilers::instance().missing) {
    if (missing.name != name) continue;
    return missing.name + " is not on this machine: " + missing.reason + "; " + missing.remedy;
  }
  return std::string(name) + " is not on this machine";
}

inline bool compiles(const Compiler& compiler, std::string_view target) {
  const auto targets = compiler.targets();
  return std::ranges::find(targets, target) != targets.end();
}

/// What compile() throws, or an empty string.
inline std::string error_of(const Compiler& compiler, const CompileRequest& request) {
  try {
    (void)compiler.compile(request);
    return {};
  } catch (const CompileError& error) {
    return error.what();
  }
}

}  // namespace iris::samples

/// Skips the test, saying why, unless the compiler is here and does the target.
#define IRISGEN_REQUIRE_COMPILER(compiler_name, target_name)                                             \
  do {                                                                                                   \
    const iris::Compiler* required = iris::samples::find_compiler(compiler_name);                        \
    if (required == nullptr) GTEST_SKIP() << iris::samples::why_missing(compiler_name);                  \
    if (!iris::samples::compiles(*required, target_name)) {                                              \
      GTEST_SKIP() << (compiler_name) << " " << required->version() << " does not do " << (target_name); \
    }                                                                                                    \
  } while (false)
