#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "error_words.hpp"
#include "iris/device/abi.hpp"
#include "iris/operation.hpp"

namespace iris::test {

/// The bytes of the library made from host_kernels.cpp.
inline std::vector<std::byte> host_kernel_library() {
  std::ifstream file(IRISGEN_HOST_KERNELS, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " IRISGEN_HOST_KERNELS);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes;
  bytes.reserve(content.size());
  for (const char byte : content) bytes.push_back(static_cast<std::byte>(byte));
  return bytes;
}

/// One of the kernels of host_kernels.cpp: two blocks of 32 threads, i32 input and output of n elements, n dynamic. The
/// manifest says that it is an all_reduce.
inline BuiltOperation host_operation(const std::string& symbol, int world) {
  BuiltOperation built;
  Manifest& manifest = built.manifest;
  manifest.abi = device::abi_version;
  manifest.name = symbol;
  manifest.target = "host";
  manifest.variant = "by_hand";
  manifest.problem = {.pattern = "all_reduce",
                      .dtype = Dtype::i32,
                      .op = Op::sum,
                      .world = world,
                      .extents = {{"m", {.value = 1}}, {"n", {.dynamic = true}}}};
  manifest.timeout_ms = 10'000;
  manifest.in_place = InPlace::same_buffer;
  const auto buffer = [](const char* name, Access access) {
    return Argument{.name = name,
                    .access = access,
                    .dtype = Dtype::i32,
                    .shape = {{"m"}, {"n"}},
                    .symmetric = true,
                    .alignment = 4};
  };
  manifest.arguments = {buffer("input", Access::read), buffer("output", Access::write)};
  manifest.kernels = {{.symbol = symbol, .source_hash = {}, .blocks = 2, .threads = 32, .flags = 64}};
  manifest.schedules = {{.up_to = every_size, .steps = {{0, LaunchStep{0, {"input", "output"}, {{"n"}}}}}}};
  built.code = {{.target = "host", .compiler = "the tests' own", .bytes = host_kernel_library(), .resources = {}}};
  return built;
}

/// The extents of such a kernel that are dynamic.
inline Extents of_n(std::int64_t n) {
  return {{"n", n}};
}

/// The kernel gather_of_two: its output is twice as long.
inline BuiltOperation gather_of_two() {
  BuiltOperation built = host_operation("gather_of_two", 2);
  built.manifest.arguments[1].shape[0].factor = 2;
  return built;
}

}  // namespace iris::test
