#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "iris/code_object.hpp"
#include "iris/device.hpp"
#include "iris/manifest.hpp"

namespace iris {

class Context;

/// A manifest and its code: what JIT makes and what an application embeds.
struct BuiltKernel {
  irisgen::Manifest manifest;
  CodeObject code;
};

/// Extents of a launch; those that the manifest fixes must agree with it or be left out.
struct LaunchExtents {
  std::optional<std::int64_t> m = std::nullopt, n = std::nullopt, k = std::nullopt;
};

/// A kernel ready to be launched on one rank: loaded, its flags and workspace on the heap, residency checked.
class Kernel {
 public:
  /// Collective: every rank of the world calls it with the same kernel, in the same order. `capacity` bounds the
  /// dynamic extents. Throws if the world's size or target differs from the manifest's, or if the blocks do not fit on
  /// the device together.
  Kernel(Context& context, const BuiltKernel& built, LaunchExtents capacity = {});
  ~Kernel();
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;

  /// Enqueues one launch. `buffers` are the manifest's arguments in order. Checks alignment, aliasing, symmetry and
  /// extents; throws a sentence naming the argument. A wait that ran out of time is thrown by Context::synchronize.
  void launch(std::span<void* const> buffers, LaunchExtents extents = {}, Stream stream = nullptr);

  const irisgen::Manifest& manifest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iris
