#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace iris {

/// What the program that started this process says of it and the others.
struct LaunchedProcess {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  std::string by = {};   ///< "torchrun"
  std::string job = {};  ///< the same for all of its processes, and for those of no other job that runs now
};

/// A variable of the environment; null if it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Nothing if no launcher says. Throws std::runtime_error in words if what is said makes no sense, or if ranks are on
/// several hosts.
std::optional<LaunchedProcess> launched_process(const Environment& environment);

/// The same in all processes of a host until it is started anew.
std::string host_name();
/// Throws unless all ranks have said the same.
void check_one_host(const std::vector<std::string>& host_names);

}  // namespace iris
