#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace iris {

/// What a kernel takes of a compute unit, as its compiler reports it; absent where it does not (host).
struct Resources {
  std::optional<int> registers;         ///< per thread: NVIDIA registers, AMD VGPRs (with AccVGPRs)
  std::optional<int> scalar_registers;  ///< per wave, AMD
  std::optional<int> shared_bytes;      ///< static, per block
  std::optional<int> spill_bytes;       ///< scratch per thread (spills, arrays outside registers); best 0
};

/// A compiled kernel: an AMD code object, a cubin, or (host) a shared library.
struct CodeObject {
  std::string target = {};
  std::string compiler = {};  ///< name and version
  std::vector<std::byte> bytes = {};
  Resources resources = {};
  bool from_cache = false;
};

}  // namespace iris
