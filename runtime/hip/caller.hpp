#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/hip/api.hpp"

namespace iris::hip {

/// Who makes a call, for the sentence of its failure.
struct Caller {
  const Api* api = nullptr;
  int rank = 0;
  int device = 0;

  /// Throws std::runtime_error unless `error` is success: the call, `detail` (a size, a kernel's name) in parentheses,
  /// rank, device, the error's name and text.
  void check(Error error, std::string_view function, const std::string& detail = {}) const;
};

/// As `detail` has it.
inline std::string byte_count(std::size_t bytes) {
  return std::to_string(bytes) + " bytes";
}

}  // namespace iris::hip
