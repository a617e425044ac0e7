#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "iris/bootstrap.hpp"
#include "runtime/world/collectives.hpp"
#include "runtime/world/process_group.hpp"

namespace iris {

/// The collective calls of all ranks as one that is a process makes them, by its Bootstrap's all_gather alone. A rank
/// whose body is over takes part in whatever calls the others still make, saying so, until the bodies of all are over.
class ProcessCollectives final : public WorldCollectives {
 public:
  explicit ProcessCollectives(std::shared_ptr<Bootstrap> bootstrap);

  int rank() const override { return bootstrap_->rank(); }
  const std::vector<int>& ranks() const override { return ranks_; }
  std::vector<std::string> all_gather(CollectiveCall call, std::string content) override;
  std::shared_ptr<void> share_memory(CollectiveCall call, std::size_t bytes) override;
  std::unique_ptr<Collectives> among(const std::vector<int>& ranks) override;

  bool share_addresses() const override { return false; }
  void hand_over(const CollectiveCall& call, const Files& files, const TakeFiles& take) override;

  /// The body of a run begins. All that is done before the first one counts as a run, too.
  void begin();

  struct Failure {
    int rank;
    std::string words;
  };
  /// This rank's body is over, with `error` if it failed. Returns once those of all ranks are; the failure that came
  /// first. Throws if a rank is lost meanwhile.
  std::optional<Failure> leave(const std::exception_ptr& error);
  /// The same without a failure, and without waiting: the other ranks' calls with this one fail.
  void depart();

  /// Why a rank will do no more in this run: "rank 2 has ended". Empty as long as it may. For any thread.
  std::string absence(int rank) const;

 private:
  struct Part;
  std::vector<Part> exchange(const Part& mine, const std::string& call);
  void note_failures(const std::vector<Part>& parts);

  /// Where these ranks make groups.
  struct Maker {
    std::unique_ptr<ProcessGroup> members;
    std::uint64_t last_group = 0;  ///< its number; others may have seen a later one fail
  };
  Maker& maker_of(const std::vector<int>& ascending);
  std::unique_ptr<ProcessGroup> split(const std::string& name, const std::vector<int>& ranks,
                                      const std::vector<int>& ascending);

  std::shared_ptr<Bootstrap> bootstrap_;
  std::vector<int> ranks_;
  std::map<std::vector<int>, Maker> makers_;  // by ranks in ascending order
  std::uint64_t run_ = 0;
  mutable std::mutex run_mutex_;  // of run_, which absence() reads
  struct TimedFailure {
    Failure failure;
    std::uint64_t time;
  };
  std::optional<TimedFailure> first_failure_;
};

}  // namespace iris
