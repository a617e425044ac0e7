#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "generator/manifest/hash.hpp"
#include "iris/bootstrap.hpp"
#include "runtime/world/processes/launcher.hpp"
#include "runtime/world/processes/member.hpp"

namespace iris {

std::shared_ptr<Bootstrap> connect_processes(const ProcessOptions& options) {
  static std::atomic<int> connections = 0;
  LaunchedProcess self = launched_process([](const char* name) -> const char* { return std::getenv(name); });
  self.job += "\nuser " + std::to_string(::geteuid()) + "\nworld " + std::to_string(++connections);
  const std::string name = "irisgen-" + sha256_hex(self.job).substr(0, 32);
  // A process that fork() has made has none of the threads that its end would wait for.
  const auto end = [process = ::getpid()](Member* member) {
    if (::getpid() == process) delete member;
  };
  return {new Member(self, name, options), end};
}

}  // namespace iris
