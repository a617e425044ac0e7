#include "runtime/system/address_space.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace iris {

std::optional<std::uint64_t> address_space_left() {
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  std::uint64_t pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages)) return std::nullopt;
  const std::uint64_t mapped = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > mapped ? limit.rlim_cur - mapped : 0;
}

}  // namespace iris
