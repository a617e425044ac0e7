#pragma once

#include <cstddef>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <iris/device/abi.hpp>
#include "iris/kernel.hpp"

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

/// One of the kernels of host_kernels.cpp: two blocks of 32 threads, i32 input and output of n elements, n dynamic.
inline BuiltKernel host_kernel(const std::string& symbol, int world) {
  using irisgen::Access;
  using irisgen::Dtype;
  BuiltKernel built;
  built.manifest.abi = device::abi_version;
  built.manifest.name = symbol;
  built.manifest.symbol = symbol;
  built.manifest.target = "host";
  built.manifest.pattern = "all_reduce";
  built.manifest.variant = "by_hand";
  built.manifest.dtype = Dtype::i32;
  built.manifest.accumulate = Dtype::i32;
  built.manifest.world = world;
  built.manifest.blocks = 2;
  built.manifest.threads = 32;
  built.manifest.timeout_ms = 10'000;
  built.manifest.flags = 64;
  built.manifest.n.dynamic = true;
  built.manifest.arguments = {{.name = "input",
                               .access = Access::read,
                               .dtype = Dtype::i32,
                               .shape = {{'m'}, {'n'}},
                               .symmetric = true,
                               .alignment = 4},
                              {.name = "output",
                               .access = Access::write,
                               .dtype = Dtype::i32,
                               .shape = {{'m'}, {'n'}},
                               .symmetric = true,
                               .alignment = 4}};
  built.code.target = "host";
  built.code.compiler = "the tests' own";
  built.code.bytes = host_kernel_library();
  return built;
}

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
