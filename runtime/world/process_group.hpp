#pragma once

#include <memory>
#include <string>
#include <vector>

#include "iris/bootstrap.hpp"
#include "runtime/world/collectives.hpp"

namespace iris {

class ProcessCollectives;

/// The collective calls of a group as one of its ranks, a process, makes them, by what Bootstrap::split gives. A rank
/// whose body is over is told of by the World's own collectives, and takes part in nothing.
class ProcessGroup final : public Collectives {
 public:
  /// `ranks` in the group's order; `ascending` are the same, as the bootstrap numbers them.
  ProcessGroup(std::shared_ptr<Bootstrap> bootstrap, std::vector<int> ranks, std::vector<int> ascending,
               const ProcessCollectives& world);

  int rank() const override { return rank_; }
  const std::vector<int>& ranks() const override { return ranks_; }
  std::vector<std::string> all_gather(CollectiveCall call, std::string content) override;
  std::shared_ptr<void> share_memory(CollectiveCall call, std::size_t bytes) override;
  bool share_addresses() const override { return false; }
  void hand_over(const CollectiveCall& call, const Files& files, const TakeFiles& take) override;

 private:
  std::shared_ptr<Bootstrap> bootstrap_;
  std::vector<int> ranks_;
  std::vector<int> ascending_;
  const ProcessCollectives& world_;
  int rank_;
};

}  // namespace iris
