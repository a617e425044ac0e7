#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "iris/device/abi.hpp"
#include "iris/manifest.hpp"
#include "runtime/world/adopted_memory.hpp"

namespace iris {

/// The adopted memory that the symmetric buffers of a launch lie in.
class LaunchWindows {
 public:
  LaunchWindows() = default;
  /// Of buffers that check_buffers() has accepted; `bytes` are those of each argument. Throws std::runtime_error if
  /// they lie in more than a kernel is told of.
  LaunchWindows(const Manifest& manifest, const AdoptedMemory& adopted, std::span<const std::int64_t> bytes,
                std::span<void* const> pointers);

  bool empty() const { return count_ == 0; }
  /// Tells a kernel of them, and of no others. `ranks`: those of its group, which have all adopted them.
  void write_to(device::Context& context, std::span<const int> ranks) const;

 private:
  void add(const Adoption& adoption, const Manifest& manifest);

  std::array<const Adoption*, device::max_windows> adoptions_{};
  std::size_t count_ = 0;
};

}  // namespace iris
