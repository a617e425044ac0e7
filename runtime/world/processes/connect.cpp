#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>

#include "generator/manifest/hash.hpp"
#include "iris/bootstrap.hpp"
#include "runtime/system/secret.hpp"
#include "runtime/world/collectives.hpp"
#include "runtime/world/packing.hpp"
#include "runtime/world/processes/launcher.hpp"
#include "runtime/world/processes/member.hpp"

namespace iris {
namespace {

/// How often this process has connected to these ranks.
int count_connection(const std::vector<int>& ranks) {
  static std::mutex mutex;
  static std::map<std::vector<int>, int> connections;
  const std::lock_guard lock(mutex);
  return ++connections[ranks];
}

/// The process as one of these ranks alone.
LaunchedProcess renumber(LaunchedProcess self, const std::vector<int>& ranks) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error("rank " + std::to_string(self.rank) + " of " + std::to_string(self.size) +
                             " cannot meet " + name_ranks(ranks) + " alone: " + why);
  };
  for (const int rank : ranks) {
    if (rank < 0 || rank >= self.size) refuse("there is no rank " + std::to_string(rank));
    if (std::ranges::count(ranks, rank) > 1) refuse("rank " + std::to_string(rank) + " is given twice");
    self.job += "\nrank " + std::to_string(rank);
  }
  const auto own = std::ranges::find(ranks, self.rank);
  if (own == ranks.end()) refuse("it is not among them");
  self.rank = static_cast<int>(own - ranks.begin());
  self.size = static_cast<int>(ranks.size());
  return self;
}

}  // namespace

std::shared_ptr<Bootstrap> Bootstrap::split(const Subset&) {
  throw std::runtime_error(
      "this world's Bootstrap cannot reach some ranks without the others, as groups must: override Bootstrap::split, "
      "or hand World::join what connect_through() makes of it");
}

namespace {

/// Those of `options` alone, unless it names none.
std::shared_ptr<Bootstrap> connect(LaunchedProcess self, const ProcessOptions& options) {
  if (!options.ranks.empty()) self = renumber(self, options.ranks);
  self.job += "\nuser " + std::to_string(::geteuid());
  const std::string name = "irisgen-" + sha256_hex(self.job).substr(0, 32);
  // A process that fork() has made has none of the threads that its end would wait for.
  const auto end = [process = ::getpid()](Member* member) {
    if (::getpid() == process) delete member;
  };
  return {new Member(self, name, options), end};
}

}  // namespace

std::shared_ptr<Bootstrap> connect_processes(const ProcessOptions& options) {
  auto self = launched_process([](const char* name) -> const char* { return std::getenv(name); });
  if (!self.has_value()) {
    throw std::runtime_error(
        "nothing says which rank this process is: start it under torchrun (RANK, WORLD_SIZE), mpirun of Open MPI "
        "(OMPI_COMM_WORLD_RANK) or irisgen run --processes, or hand World::join a Bootstrap of your own");
  }
  self->job += "\nworld " + std::to_string(count_connection(options.ranks));
  return connect(*std::move(self), options);
}

std::shared_ptr<Bootstrap> connect_through(Bootstrap& others, const ProcessOptions& options) {
  std::string secret;
  const std::string error = words_of_attempt([&] {
    if (others.rank() == 0) secret = random_secret();
  });
  std::vector<std::string> hosts;
  std::vector<std::string> secrets;
  for (const std::string& said : others.all_gather(pack({host_name(), secret, error}), "connect_through()")) {
    std::vector<std::string> texts = unpack(said, 3);
    if (!texts[2].empty()) throw std::runtime_error("rank " + std::to_string(hosts.size()) + ": " + texts[2]);
    hosts.push_back(std::move(texts[0]));
    secrets.push_back(std::move(texts[1]));
  }
  check_one_host(hosts);
  return connect({.rank = others.rank(),
                  .size = others.size(),
                  .local_rank = others.local_rank(),
                  .by = "the program's own Bootstrap",
                  .job = secrets.at(0)},
                 options);
}

}  // namespace iris
