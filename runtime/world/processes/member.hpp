#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "generator/manifest/descriptor.hpp"
#include "iris/bootstrap.hpp"
#include "iris/log.hpp"
#include "runtime/world/processes/channel.hpp"
#include "runtime/world/processes/hub.hpp"
#include "runtime/world/processes/launcher.hpp"
#include "runtime/world/processes/service.hpp"

namespace iris {

/// A rank's process, of which the kernel tells when it has ended.
struct RankProcess {
  std::string number;
  Descriptor handle;  ///< none where this process sees others than the hub does, as in a container of its own
};

/// One process's connection to the hub, which is in rank 0's process: a thread reads, writes and shows that this
/// process lives, while the program's own threads do what they do.
class Member final : public Bootstrap, public std::enable_shared_from_this<Member> {
 public:
  /// `name` is of the hub's socket. Throws if the others do not come in time, or do not want this process.
  Member(const LaunchedProcess& self, const std::string& name, const ProcessOptions& options);
  ~Member() override;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  int rank() const override { return self_.rank; }
  int size() const override { return self_.size; }
  int local_rank() const override { return self_.local_rank; }
  std::vector<std::string> all_gather(const std::string& bytes, const std::string& call) override;
  std::shared_ptr<Bootstrap> split(const Subset& subset) override;
  void post(const std::string& notice) override;
  std::string notice(int rank) const override;
  std::string lost(int rank) const override;
  void leave() override;

  /// That of a subset; of one with no name, of all ranks.
  std::vector<std::string> all_gather_among(const Subset& subset, const std::string& bytes, const std::string& call);

 private:
  Descriptor find_hub(const std::string& name);
  void await_welcome();
  void serve();
  void hear(const Patience& patience);
  void say(const Patience& patience);
  void take(Message& message);
  void lose_hub(const std::string& how);
  const std::string* first_loss() const;
  std::string await_result(const Subset& subset, const std::string& call, std::uint64_t known_news);
  std::string why_in_vain(const Subset& subset) const;

  LaunchedProcess self_;
  ProcessOptions options_;
  Clock::time_point began_ = Clock::now();
  std::unique_ptr<Hub> hub_;  // rank 0's

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Channel> channel_;
  Clock::time_point last_heard_ = began_;
  Clock::time_point last_beat_ = began_;
  bool leaving_ = false;
  bool stopping_ = false;
  bool hub_is_gone_ = false;
  bool welcome_ = false;
  std::string refusal_;
  std::vector<RankProcess> processes_;  ///< by rank; none before the welcome
  std::string call_;
  std::uint64_t call_number_ = 0;  // its number, which the answer bears
  std::string last_call_;          // that all ranks have made
  std::optional<std::string> result_;
  std::string deadlock_;    // in which the call was found, in words
  std::uint64_t news_ = 0;  // of other ranks that have come
  Subset all_;
  std::vector<std::string> notices_;
  std::vector<int> noticed_;         // ranks that have posted, the latest last
  std::vector<std::string> lost_;    // by rank; empty: not lost
  std::vector<std::size_t> losses_;  // ranks, in the order in which that was heard
  /// What is to be logged once the mutex is free: a sink may ask who is lost, or take its time.
  struct LogEntry {
    LogLevel level;
    std::string text;
  };
  std::vector<LogEntry> entries_;
  Wake wake_;
  std::unique_ptr<Service> service_;
};

}  // namespace iris
