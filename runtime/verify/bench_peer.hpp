#pragma once

#include <memory>
#include <string>
#include <vector>

#include "iris/bench.hpp"
#include "iris/world.hpp"
#include "runtime/verify/collective_library.hpp"

namespace iris {

/// The vendor's library, measured on the same ranks and in the same way as a collective of ours: plainly, and where it
/// has windows with its own memory registered in them.
class BenchPeer {
 public:
  /// Throws std::runtime_error with a sentence if the library cannot be opened or refuses the ranks.
  BenchPeer(irisgen::Platform platform, World& ranks, int world);
  ~BenchPeer();
  BenchPeer(const BenchPeer&) = delete;
  BenchPeer& operator=(const BenchPeer&) = delete;

  const std::string& description() const { return library_.description(); }

  /// Of a static problem that the library has.
  LibraryTimes measure(const Problem& problem, const BenchOptions& options) const;

 private:
  CollectiveLibrary library_;
  World& ranks_;
  std::vector<std::unique_ptr<const Communicator>> communicators_;  ///< of each rank
};

}  // namespace iris
