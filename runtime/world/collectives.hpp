#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "generator/manifest/descriptor.hpp"

namespace iris {

/// What a rank brings to a collective call. All ranks must bring the same.
struct CollectiveCall {
  std::string call;          ///< as the user would write it: "allocate(1024 bytes)"
  std::string state;         ///< of the rank, in words: "holds 3 allocations of 4096 bytes"
  std::uint64_t digest = 0;  ///< of that state, exactly
};

/// How one rank of a World makes collective calls, whether the others are threads or processes. Each returns when every
/// rank has made it. Throws std::runtime_error on every rank if their calls differ, saying who made which, or if a rank
/// is gone, saying which and why.
class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int rank() const = 0;

  /// What each rank gave, in the order of ranks.
  virtual std::vector<std::string> all_gather(CollectiveCall call, std::string content) = 0;
  /// Memory of the host that is the same for all ranks: zeros, aligned to a cache line.
  virtual std::shared_ptr<void> share_memory(CollectiveCall call, std::size_t bytes) = 0;
  /// Whether the ranks are threads of one process, to which an address means the same.
  virtual bool share_addresses() const { return true; }
  /// Every rank's open file, as open in this process; negative where a rank gives none. One's own is a copy. Among
  /// processes alone.
  virtual std::vector<Descriptor> hand_over(const CollectiveCall& call, const Descriptor& own);

  void barrier(CollectiveCall call);
  /// Returns on every rank what rank 0 gave. The others' content is not looked at.
  std::string broadcast(CollectiveCall call, std::string content);
};

/// How the ranks' calls differ, and who made which; empty if they agree.
std::string describe_difference(std::span<const CollectiveCall> calls);

/// "rank 3", "ranks 0, 2-7".
std::string name_ranks(const std::vector<int>& ranks);

/// The words of an exception.
std::string words_of(const std::exception_ptr& error);

}  // namespace iris
