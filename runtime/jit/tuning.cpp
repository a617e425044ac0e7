#include "iris/tuning.hpp"

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

#include "generator/manifest/atomic_file.hpp"
#include "irisgen/spec.hpp"
#include "runtime/system/file_lock.hpp"

namespace iris {
namespace {

namespace fs = std::filesystem;

/// How long another process may take to write.
constexpr std::chrono::seconds longest_write(10);

fs::path from_environment(const char* variable, const char* below) {
  const char* value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? fs::path() : fs::path(value) / below;
}

/// The table of the file, read while nobody else writes it, as `change` leaves it, unless that returns false.
template <typename Change>
void change_table(const fs::path& file, const Change& change) {
  if (file.has_parent_path()) fs::create_directories(file.parent_path());
  const FileLock lock(file.string() + ".lock", longest_write);
  irisgen::TuningTable table = read_tuning(file);
  if (change(table)) write_whole_file(file, irisgen::to_json(table));
}

}  // namespace

fs::path user_tuning_file() {
  const char* own = std::getenv("IRISGEN_TUNING");
  if (own != nullptr && *own != '\0') return own;
  const fs::path configured = from_environment("XDG_CONFIG_HOME", "irisgen/tuning.json");
  return configured.empty() ? from_environment("HOME", ".config/irisgen/tuning.json") : configured;
}

irisgen::TuningTable read_tuning(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error) && (!error || error == std::errc::no_such_file_or_directory)) return {};
  if (error) {
    throw std::runtime_error("cannot reach the tuning table " + file.string() + ": " + error.message() +
                             "; name another in IRISGEN_TUNING");
  }
  return irisgen::parse_tuning(file.string(), irisgen::read_text(file.string()));
}

void add_tuning(const fs::path& file, const irisgen::TuningEntry& entry) {
  change_table(file, [&](irisgen::TuningTable& table) {
    const auto* known = table.find_measured(entry.problem, entry.target, entry.device, entry.spec_hash);
    const bool same = known != nullptr && known->driver == entry.driver && known->kernels == entry.kernels;
    if (same && known->complete && !entry.complete) return false;
    table.set(entry);
    return true;
  });
}

void add_rates(const fs::path& file, const irisgen::MachineRates& machine) {
  change_table(file, [&](irisgen::TuningTable& table) {
    table.set(machine);
    return true;
  });
}

std::vector<irisgen::TuningTable> tuning_of_user() {
  const fs::path file = user_tuning_file();
  std::vector<irisgen::TuningTable> tables;
  std::error_code unreachable;  // a home that belongs to somebody else, say: nobody has put a table there for us
  if (!file.empty() && fs::exists(file, unreachable)) tables.push_back(read_tuning(file));
  tables.push_back(irisgen::shipped_tuning());
  return tables;
}

}  // namespace iris
