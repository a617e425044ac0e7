#pragma once

#include <memory>
#include <vector>

#include "iris/bench.hpp"
#include "iris/world.hpp"
#include "runtime/verify/collective_library.hpp"
#include "runtime/verify/measurement.hpp"

namespace iris {

/// The vendor's library, measured on the same ranks and in the same way as a collective of ours: plainly, and where it
/// has windows with its own memory registered in them.
class LibraryBench {
 public:
  /// Throws std::runtime_error with a sentence if ranks share a GPU, or if the library refuses them.
  LibraryBench(const CollectiveLibrary& library, World& ranks, int ranks_per_device, int world);
  ~LibraryBench();
  LibraryBench(const LibraryBench&) = delete;
  LibraryBench& operator=(const LibraryBench&) = delete;

  /// What the library takes for the same. The library's waits are not bounded: where it fails on one
  /// rank in the midst of a collective, the others wait.
  LibraryTimes measure(const Measured& ours, const BenchOptions& options) const;

 private:
  const CollectiveLibrary& library_;
  World& ranks_;
  std::vector<std::unique_ptr<const Communicator>> communicators_;  ///< of each rank
};

}  // namespace iris
