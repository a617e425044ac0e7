#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "generator/manifest/hash.hpp"
#include "iris/bootstrap.hpp"
#include "runtime/world/processes/launcher.hpp"
#include "runtime/world/processes/member.hpp"

namespace iris {

std::shared_ptr<Bootstrap> connect_processes(const ProcessOptions& options) {
  static std::atomic<int> connections = 0;
  const auto launched = launched_process([](const char* name) -> const char* { return std::getenv(name); });
  if (!launched.has_value()) {
    throw std::runtime_error(
        "nothing says which rank this process is: start it under torchrun (RANK, WORLD_SIZE), mpirun of Open MPI "
        "(OMPI_COMM_WORLD_RANK) or irisgen run --processes, or hand World::join a Bootstrap of your own");
  }
  LaunchedProcess self = *launched;
  self.job += "\nuser " + std::to_string(::geteuid()) + "\nworld " + std::to_string(++connections);
  const std::string name = "irisgen-" + sha256_hex(self.job).substr(0, 32);
  // A process that fork() has made has none of the threads that its end would wait for.
  const auto end = [process = ::getpid()](Member* member) {
    if (::getpid() == process) delete member;
  };
  return {new Member(self, name, options), end};
}

}  // namespace iris
