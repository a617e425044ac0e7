#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "generator/manifest/descriptor.hpp"
#include "iris/world.hpp"

namespace iris::test {

/// What became of a process.
struct ProcessOutcome {
  int code = -1;     ///< exit code; 128 + signal if one ended it
  std::string said;  ///< what its body returned, or "threw: " and the words
};

/// Processes made by fork(), which end with the test, whatever becomes of it. Each says one thing at its end.
class Processes {
 public:
  using Body = std::function<std::string(int number)>;

  Processes() = default;
  ~Processes() {
    for (const Child& child : children_) {
      if (child.process > 0) ::kill(child.process, SIGKILL);
      if (child.process > 0) ::waitpid(child.process, nullptr, 0);
    }
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  void start(int number, const Body& body) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const pid_t process = ::fork();
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[0]);
      live(number, body, ends[1]);
    }
    ::close(ends[1]);
    children_.push_back({process, Descriptor(ends[0])});
  }

  pid_t process(std::size_t number) const { return children_.at(number).process; }

  /// Waits for all, each at most a minute; for one that is stopped when the others have ended, which it does not
  /// survive.
  std::vector<ProcessOutcome> wait(std::optional<std::size_t> stopped = {}) {
    std::vector<ProcessOutcome> outcomes(children_.size());
    for (std::size_t number = 0; number < children_.size(); ++number) {
      if (number != stopped) outcomes[number] = reap(children_[number]);
    }
    if (stopped.has_value()) {
      ::kill(children_.at(*stopped).process, SIGKILL);
      outcomes[*stopped] = reap(children_.at(*stopped));
    }
    children_.clear();
    return outcomes;
  }

 private:
  struct Child {
    pid_t process;
    Descriptor words;
  };

  static ProcessOutcome reap(Child& child) {
    pollfd pipe{child.words.get(), POLLIN, 0};
    if (::poll(&pipe, 1, 60'000) == 0) ::kill(child.process, SIGKILL);
    ProcessOutcome outcome;
    outcome.said = read_all(child.words.get()).value_or("");
    int status = 0;
    ::waitpid(std::exchange(child.process, 0), &status, 0);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
  }

  [[noreturn]] static void live(int number, const Body& body, int words) {
    std::string said;
    int code = 0;
    try {
      said = body(number);
    } catch (const std::exception& error) {
      said = std::string("threw: ") + error.what();
      code = 1;
    }
    write_all(words, said);
    ::_exit(code);
  }

  std::vector<Child> children_;
};

/// This process is that rank, as if `irisgen run --processes` had started it.
inline void become_rank(int rank, int size, const std::string& job) {
  ::setenv("IRISGEN_JOB", job.c_str(), 1);
  ::setenv("IRISGEN_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("IRISGEN_WORLD_SIZE", std::to_string(size).c_str(), 1);
}

/// This process is of a user who is not the one of the others. False where it may not be.
inline bool become_another_user() {
  constexpr uid_t nobody = 65534;
  return ::geteuid() != nobody && ::setuid(nobody) == 0;
}
inline bool may_become_another_user() {
  return ::geteuid() == 0;
}

inline void expect_all_say(const std::vector<ProcessOutcome>& outcomes, const std::string& words) {
  for (const ProcessOutcome& outcome : outcomes) EXPECT_EQ(outcome.said, words);
}

/// The least that a program's own Bootstrap has to do.
class LeastBootstrap final : public Bootstrap {
 public:
  int rank() const override { return others_->rank(); }
  int size() const override { return others_->size(); }
  std::vector<std::string> all_gather(const std::string& bytes, const std::string& call) override {
    return others_->all_gather(bytes, call);
  }

 private:
  std::shared_ptr<Bootstrap> others_ = connect_processes();
};

/// Does all that connect_processes() does, and something at each all_gather() before.
class WatchedBootstrap final : public Bootstrap {
 public:
  using AtCall = std::function<void(const std::string& call)>;
  explicit WatchedBootstrap(AtCall at_call, std::shared_ptr<Bootstrap> others = connect_processes())
      : at_call_(std::move(at_call)), others_(std::move(others)) {}

  int rank() const override { return others_->rank(); }
  int size() const override { return others_->size(); }
  int local_rank() const override { return others_->local_rank(); }
  std::vector<std::string> all_gather(const std::string& bytes, const std::string& call) override {
    at_call_(call);
    return others_->all_gather(bytes, call);
  }
  std::shared_ptr<Bootstrap> split(const Subset& subset) override {
    return std::make_shared<WatchedBootstrap>(at_call_, others_->split(subset));
  }
  void post(const std::string& notice) override { others_->post(notice); }
  std::string notice(int rank) const override { return others_->notice(rank); }
  std::string lost(int rank) const override { return others_->lost(rank); }
  void leave() override { others_->leave(); }

 private:
  AtCall at_call_;
  std::shared_ptr<Bootstrap> others_;
};

/// The world of this process and the others of its job.
inline World join(std::size_t heap_bytes = 1 << 20) {
  return World::join({.heap_bytes = heap_bytes});
}

/// The name of a job that no other has.
inline std::string new_job() {
  static int jobs = 0;
  return "test " + std::to_string(::getpid()) + "." + std::to_string(++jobs);
}

/// So many ranks, each a process, from begin to end.
inline std::vector<ProcessOutcome> run_ranks(int size, const Processes::Body& body,
                                             std::optional<std::size_t> stopped = {}) {
  Processes processes;
  const std::string job = new_job();
  for (int rank = 0; rank < size; ++rank) {
    processes.start(rank, [&](int number) {
      become_rank(number, size, job);
      return body(number);
    });
  }
  return processes.wait(stopped);
}

}  // namespace iris::test
