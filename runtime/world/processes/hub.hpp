#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iris/bootstrap.hpp"
#include "runtime/world/processes/channel.hpp"
#include "runtime/world/processes/service.hpp"

namespace iris {

/// A rank's part of an all_gather among some of them, or all.
struct Contribution {
  std::string subset = {};      ///< its name; empty for all ranks
  std::vector<int> ranks = {};  ///< ascending
  std::string packed = {};      ///< by itself, so that all ranks' parts, one after another, are packed

  std::string pack() const;
  /// Throws std::runtime_error for what pack() did not make of ranks below `size`.
  static Contribution of(const std::string& packed, int size);
};

/// Where the processes of a world meet: a thread of rank 0's process to which each of them, rank 0 too, has a
/// connection. It brings together what they contribute, tells all who is lost, and why, and never waits for anybody.
class Hub {
 public:
  Hub(Descriptor listener, int size, std::string job, const ProcessOptions& options);
  /// Says what is left to be said first, to those who listen.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

 private:
  /// What is known of one rank.
  struct Seat {
    std::unique_ptr<Channel> channel;  // none before it comes and after it is lost
    pid_t process = 0;
    Clock::time_point last_heard;
    bool has_come = false;
    bool waits = false;      // for the others of its contribution's subset
    std::uint64_t call = 0;  // the number of its last one
    std::string last_call;   // that it made
    Contribution contribution;
  };
  /// Has connected, and not said which rank it is.
  struct Stranger {
    std::unique_ptr<Channel> channel;
    Clock::time_point since;
  };

  void serve();
  void wait_for_sockets(std::chrono::milliseconds most);
  bool accepts() const;
  void accept_strangers();
  void hear_strangers();
  bool admit(Stranger& stranger, const Message& hello);
  void welcome_all();
  void hear_seats();
  void take(std::size_t rank, Message& message);
  void conclude_round(const Contribution& last);
  std::vector<int> missing_from(const Contribution& contribution) const;
  void end_deadlock();
  void no_longer_stuck(std::size_t rank);
  void beat();
  void lose(std::size_t rank, const std::string& how);
  void tell_all(const Message& message);
  void give_up_missing();
  bool everybody_is_told() const;
  std::string describe(std::size_t rank) const;

  Descriptor listener_;
  std::string job_;
  ProcessOptions options_;
  Patience patience_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point last_beat_ = began_;
  Clock::time_point accepts_from_ = {};  // later where there are no descriptors
  bool complete_ = false;                // all have come
  std::string failure_;                  // of the last rank that is lost, in words
  std::vector<int> stuck_;               // ranks that wait for one another, as it seems
  Clock::time_point stuck_since_ = began_;
  std::vector<Seat> seats_;
  std::list<Stranger> strangers_;
  std::atomic<bool> stopping_ = false;
  Wake wake_;
  Service service_;  // last: it uses all of the above
};

/// The first message of a process: what all must say alike, and its rank.
std::string pack_hello(const std::string& job, int size, int rank);

}  // namespace iris
