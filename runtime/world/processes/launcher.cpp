#include "runtime/world/processes/launcher.hpp"

#include <array>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace iris {
namespace {

/// The variables in which a launcher says who a process is. Those that are the job's name may be missing, but the
/// first.
struct Launcher {
  const char* name;
  const char* mark;  ///< is set only by this launcher
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
  std::array<const char*, 4> job;
};

/// The first whose mark is set counts: mpirun may start torchrun, which may start irisgen.
constexpr std::array launchers = {
    Launcher{"irisgen",
             "IRISGEN_JOB",
             "IRISGEN_RANK",
             "IRISGEN_WORLD_SIZE",
             "IRISGEN_RANK",
             "IRISGEN_WORLD_SIZE",
             {"IRISGEN_JOB"}},
    Launcher{"torchrun",
             "TORCHELASTIC_RUN_ID",
             "RANK",
             "WORLD_SIZE",
             "LOCAL_RANK",
             "LOCAL_WORLD_SIZE",
             {"MASTER_PORT", "MASTER_ADDR", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
    Launcher{"Open MPI",
             "OMPI_COMM_WORLD_RANK",
             "OMPI_COMM_WORLD_RANK",
             "OMPI_COMM_WORLD_SIZE",
             "OMPI_COMM_WORLD_LOCAL_RANK",
             "OMPI_COMM_WORLD_LOCAL_SIZE",
             {"PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri"}},
    Launcher{"the program that set RANK",
             "RANK",
             "RANK",
             "WORLD_SIZE",
             "LOCAL_RANK",
             "LOCAL_WORLD_SIZE",
             {"MASTER_PORT", "MASTER_ADDR"}},
};

int number(const Environment& environment, const char* name, const Launcher& launcher) {
  const char* said = environment(name);
  const std::string who = std::string(launcher.name) + " started this process";
  if (said == nullptr) throw std::runtime_error(who + ", but " + name + " is not set");
  const std::string_view text = said;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw std::runtime_error(who + ", but " + name + " is '" + said + "', which is not a count");
  }
  return value;
}

std::string job_of(const Environment& environment, const Launcher& launcher) {
  if (environment(launcher.job.front()) == nullptr) {
    throw std::runtime_error(std::string(launcher.name) + " started this process, but " + launcher.job.front() +
                             " is not set, which tells its jobs apart");
  }
  std::string job = launcher.name;
  for (const char* name : launcher.job) {
    const char* said = name != nullptr ? environment(name) : nullptr;
    if (said != nullptr) job += std::string("\n") + name + "=" + said;
  }
  return job;
}

}  // namespace

std::optional<LaunchedProcess> launched_process(const Environment& environment) {
  for (const Launcher& launcher : launchers) {
    if (environment(launcher.mark) == nullptr) continue;
    const int size = number(environment, launcher.size, launcher);
    const int rank = number(environment, launcher.rank, launcher);
    const bool says_local = environment(launcher.local_size) != nullptr;
    const int local_size = says_local ? number(environment, launcher.local_size, launcher) : size;
    const int local_rank =
        environment(launcher.local_rank) != nullptr ? number(environment, launcher.local_rank, launcher) : rank;
    if (rank >= size) {
      throw std::runtime_error(std::string(launcher.name) + " says that this is rank " + std::to_string(rank) + " of " +
                               std::to_string(size) + " (" + launcher.rank + ", " + launcher.size + ")");
    }
    if (local_size != size) {
      throw std::runtime_error("the ranks of one world are processes of one host, but " + std::string(launcher.name) +
                               " started " + std::to_string(size) + " and only " + std::to_string(local_size) +
                               " of them on this one (" + launcher.local_size + ")");
    }
    return LaunchedProcess{rank, size, local_rank, launcher.name, job_of(environment, launcher)};
  }
  return std::nullopt;
}

std::string host_name() {
  std::string name;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), name);
  return name;
}

void check_one_host(const std::vector<std::string>& host_names) {
  for (std::size_t rank = 0; rank < host_names.size(); ++rank) {
    if (host_names[rank] == host_names.front()) continue;
    throw std::runtime_error("rank " + std::to_string(rank) + " is on another host than rank 0; the ranks of one " +
                             "world are processes of one host");
  }
}

}  // namespace iris
