#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "iris/device.hpp"
#include "iris/device/abi.hpp"
#include "iris/manifest.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/launch/loaded_kernel.hpp"

/// The steps of a manifest, with everything looked up and counted that does not change from launch to launch.
namespace iris {

/// The buffers of an operation on one rank, by number: its arguments, which each launch sets, its intermediate buffers,
/// and all of its own memory.
class NumberedBuffers {
 public:
  NumberedBuffers() = default;
  /// `memory` of the operation is on the heap, `beside` it is what no other rank reaches.
  NumberedBuffers(const Manifest& manifest, const OperationLayout& layout, char* memory, char* beside);

  void set_arguments(std::span<void* const> arguments);

  /// Of an argument or intermediate buffer.
  std::size_t number_of(const std::string& name) const;
  Dtype dtype_of(std::size_t number) const { return dtypes_.at(number); }
  /// Stays where it is; what a kernel is passed.
  void* const& pointer(std::size_t number) const { return pointers_.at(number); }

  /// So many bytes from the begin of a buffer.
  struct Place {
    std::size_t buffer;
    std::int64_t offset;
  };
  char* at(const Place& place) const { return static_cast<char*>(pointers_.at(place.buffer)) + place.offset; }
  /// Of what lies in the operation's own memory.
  Place place_of(const char* memory) const;

 private:
  std::vector<std::string> names_;
  std::vector<Dtype> dtypes_;
  std::vector<void*> pointers_;  // one more: the operation's own memory on the heap
};

/// Launches a kernel. What it is passed is there but for the tensor maps, which are of a launch's buffers. May be
/// moved, not copied: its arguments lie in it.
struct BoundLaunch {
  struct Map {
    std::size_t buffer;
    MatrixLayout layout;
    device::TensorMap map;
  };

  const LoadedKernel* kernel;
  int blocks;
  std::vector<std::int64_t> extents;
  std::vector<Map> maps;
  std::vector<ArgumentBytes> arguments;  ///< which lie in the other members, the kernel, the buffers and the scalars
};

/// Copies from this rank to the same place of `peer` as `to`.
struct BoundCopy {
  NumberedBuffers::Place from;
  NumberedBuffers::Place to;
  std::int64_t bytes;
  int peer;
};

struct BoundStep {
  int stream;
  std::variant<BoundLaunch, BoundCopy, const WaitStep*> action;
};

/// What the steps of a rank are bound to.
struct Binding {
  const Manifest& manifest;
  int rank;
  std::span<const LoadedKernel> kernels;
  const NumberedBuffers& buffers;
  std::span<const ScalarBytes> scalars;  ///< of the manifest, in its order; each launch sets them
};

/// What a map is of in launches with these extents, wherever that lies.
MatrixLayout matrix_layout(const MatrixMap& map, const Extents& extents);

/// The steps of a launch with these extents, without those that have nothing to do. Kernels, buffers and scalars stay
/// where they are as long as they are used.
std::vector<BoundStep> bind_steps(const Binding& binding, const Extents& extents);

}  // namespace iris
