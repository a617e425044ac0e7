#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace iris {

/// How the processes that are the ranks of one World reach one another. connect_processes() makes one; a program that
/// has a way of its own derives from this. rank(), size() and all_gather() are enough. Whoever does no more gives up
/// that ranks are told at once of one that has gone: their kernels then wait for it as long as bounded waits last, and
/// their collective calls as long as all_gather() does. Groups of ranks need split() as well. connect_through() brings
/// all of it.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Among the processes of this host: which of its GPUs is ours.
  virtual int local_rank() const { return rank(); }

  /// Returns, once every rank has called it, what each gave, in the order of ranks. `call` says what this rank is about
  /// ("barrier()"), for the words of failures. Called by one thread at a time, by all ranks in the same order. Throws
  /// std::runtime_error if a rank will never come: "barrier() cannot be done: rank 2 (process 4711) has vanished …".
  virtual std::vector<std::string> all_gather(const std::string& bytes, const std::string& call) = 0;

  /// Some of the ranks, to be reached without the others.
  struct Subset {
    std::vector<int> ranks;  ///< ascending
    std::string name;        ///< which no other subset of the same ranks has; alike on all of them
    std::function<std::string(int rank)> absence;  ///< why a rank will come no more; empty as long as it may
  };
  /// The way among these ranks alone, of which this is one: numbered there from 0 in ascending order. Called by all of
  /// them. Their all_gather() is called as this one's is; ranks may call those of several subsets, and this one, in
  /// orders that suit one another. It should throw as well when `absence`, which speaks of post() and lost(), gives a
  /// reason: otherwise it may wait for a rank whose body is over. Throws here: there are no groups.
  virtual std::shared_ptr<Bootstrap> split(const Subset& subset);

  /// What this rank has to say to all without waiting for them; replaces what it said before.
  virtual void post(const std::string& /*notice*/) {}
  /// What a rank has posted last, as far as it has come here. Called from any thread, as is lost().
  virtual std::string notice(int /*rank*/) const { return {}; }
  /// Why that rank will never come again: "rank 2 (process 4711) has vanished …". Empty as long as it may.
  virtual std::string lost(int /*rank*/) const { return {}; }
  /// This rank makes no call after this: those that others make with it should throw. What has loaded operations keeps
  /// the Bootstrap longer than that.
  virtual void leave() {}
};

struct ProcessOptions {
  /// Of the ranks that the launcher has started, those that meet, numbered anew in the order in which they stand here:
  /// the survivors of a world that has lost a rank, say. Empty: all. Each of them gives the same.
  std::vector<int> ranks = {};
  std::chrono::milliseconds patience{60'000};  ///< until all processes have come
  std::chrono::milliseconds silence{4'000};    ///< of a process, after which it is given up: it was stopped, say
};

/// Meets the other processes of this host that torchrun, mpirun (Open MPI) or `irisgen run --processes` started with
/// this one, over Unix sockets. Collective: the n-th call of each process with the same ranks meets the n-th of the
/// others. Throws std::runtime_error in words: no launcher, ranks on several hosts, who has not come in time, who says
/// otherwise.
std::shared_ptr<Bootstrap> connect_processes(const ProcessOptions& options = {});

/// Meets the same processes as `others` does, as connect_processes() would if that had started them. Collective;
/// `others` is needed for this call alone, which makes one all_gather() of a few hundred bytes.
std::shared_ptr<Bootstrap> connect_through(Bootstrap& others, const ProcessOptions& options = {});

}  // namespace iris
