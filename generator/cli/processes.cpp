#include "generator/cli/processes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "generator/manifest/descriptor.hpp"
#include "runtime/system/secret.hpp"
#include "runtime/world/processes/launcher.hpp"

namespace irisgen::cli {
namespace {

/// How long the others may take once a rank has failed: they are told of it within 5 s, and kernels on GPUs that wait
/// for it give up after theirs. One that is stopped will never end by itself.
constexpr std::chrono::seconds patience{15};

/// The words of this process's command line.
std::vector<std::string> command_line() {
  const iris::Descriptor file(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  const auto content = iris::read_all(file.get());
  if (!content) throw std::runtime_error(std::string("cannot read /proc/self/cmdline: ") + std::strerror(errno));
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < content->size();) {
    words.emplace_back(content->c_str() + begin);
    begin += words.back().size() + 1;
  }
  return words;
}

/// One process, and what it writes to standard error, which a file in memory keeps; but where the libraries are asked
/// to say what they do, all ranks write at once.
class Rank {
 public:
  Rank(int rank, int size, std::vector<std::string> words) : rank_(rank), words_(std::move(words)) {
    if (rank > 0 && std::getenv("IRIS_LOG") == nullptr)
      errors_ = iris::Descriptor(::memfd_create("irisgen errors", MFD_CLOEXEC));
    const iris::Descriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    std::vector<char*> arguments;
    arguments.reserve(words_.size() + 1);
    for (std::string& word : words_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::setenv("IRISGEN_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("IRISGEN_WORLD_SIZE", std::to_string(size).c_str(), 1);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error(std::string("cannot start a process: ") + std::strerror(errno));
    if (process_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);  // it ended before that
    if (rank > 0) {
      ::dup2(nowhere.get(), STDIN_FILENO);
      ::dup2(nowhere.get(), STDOUT_FILENO);
      if (errors_.get() >= 0) ::dup2(errors_.get(), STDERR_FILENO);
    }
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(127);
  }
  ~Rank() {
    if (is_running()) end();
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  bool is_running() const { return process_ > 0; }
  bool is_stopped() const { return is_running() && stopped_; }
  bool failed() const { return !is_running() && (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0); }
  int code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : ExitCode::failed; }

  /// Whether it has ended, or is stopped as by a debugger.
  void look() {
    int status = 0;
    if (!is_running() || ::waitpid(process_, &status, WNOHANG | WUNTRACED | WCONTINUED) != process_) return;
    stopped_ = WIFSTOPPED(status);
    if (stopped_ || WIFCONTINUED(status)) return;
    status_ = status;
    process_ = 0;
  }
  void end() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, &status_, 0);
    process_ = 0;
  }

  /// What it said of its failure, or that it could not.
  std::string words() const {
    std::string said;
    if (errors_.get() >= 0 && ::lseek(errors_.get(), 0, SEEK_SET) == 0) {
      said = iris::read_all(errors_.get()).value_or("");
    }
    if (WIFSIGNALED(status_)) {
      said += "irisgen: rank " + std::to_string(rank_) + " was ended by signal " + std::to_string(WTERMSIG(status_)) +
              " (" + ::strsignal(WTERMSIG(status_)) + ")\n";
    }
    return said;
  }

 private:
  int rank_;
  std::vector<std::string> words_;
  pid_t process_ = 0;
  int status_ = 0;
  bool stopped_ = false;
  iris::Descriptor errors_{-1};
};

void wait_for(std::vector<std::unique_ptr<Rank>>& ranks) {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  while (std::ranges::any_of(ranks, [](const auto& rank) { return rank->is_running(); })) {
    for (const auto& rank : ranks) rank->look();
    const auto now = std::chrono::steady_clock::now();
    const bool any_failed = std::ranges::any_of(ranks, [](const auto& rank) { return rank->failed(); });
    if (any_failed) deadline = std::min(deadline, now + patience);
    for (const auto& rank : ranks) {
      if (rank->is_running() && (now > deadline || (any_failed && rank->is_stopped()))) rank->end();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

std::optional<OwnRank> rank_of_this_process() {
  const auto self = iris::launched_process([](const char* name) -> const char* { return std::getenv(name); });
  if (!self.has_value()) return std::nullopt;
  return OwnRank{self->rank, self->size};
}

void keep_world(Spec& spec, int processes) {
  for (KernelSpec& kernel : spec.kernels) std::erase_if(kernel.worlds, [&](int world) { return world != processes; });
  std::erase_if(spec.kernels, [](const KernelSpec& kernel) { return kernel.worlds.empty(); });
  if (!spec.kernels.empty()) return;
  throw UsageError("this is one of " + std::to_string(processes) +
                   " processes, but no kernel is described for a world of " + std::to_string(processes) +
                   "; say --world " + std::to_string(processes));
}

ExitCode start_ranks_of(const Spec& spec, const std::string& file) {
  if (file == "-") throw UsageError("--processes reads the specification once for each; give a file");
  const int world = spec.kernels.front().worlds.front();
  for (const KernelSpec& kernel : spec.kernels) {
    if (std::ranges::any_of(kernel.worlds, [&](int other) { return other != world; })) {
      throw UsageError("--processes starts the processes of one world; choose with --world");
    }
  }
  return start_ranks(world);
}

/// The job has a random name: process numbers are alike in containers that share a network, and with it the names of
/// sockets.
ExitCode start_ranks(int size) {
  const std::vector<std::string> words = command_line();
  ::setenv("IRISGEN_JOB", iris::random_secret().c_str(), 1);
  std::vector<std::unique_ptr<Rank>> ranks;
  ranks.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_unique<Rank>(rank, size, words));
  wait_for(ranks);
  int code = ok;
  for (const auto& rank : ranks) code = std::max(code, rank->code());
  // Rank 0 has said what it knows. Where it could not, or knows of nothing, somebody else may.
  const bool rank_0_knows = ranks.front()->failed() && ranks.front()->words().empty();
  for (const auto& rank : ranks) {
    if (!rank_0_knows && rank->failed()) std::cerr << rank->words();
  }
  return static_cast<ExitCode>(code);
}

}  // namespace irisgen::cli
