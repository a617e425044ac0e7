#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace irisgen::test {
namespace {

namespace fs = std::filesystem;

void redirect(int descriptor, const std::string& path, int flags = O_WRONLY | O_CREAT | O_TRUNC) {
  const int file = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
}

[[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments,
                         const Surroundings& surroundings) {
  if (!surroundings.folder.empty() && chdir(surroundings.folder.c_str()) != 0) _exit(126);
  for (const auto& [name, value] : surroundings.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  execvp(program.c_str(), pointers.data());
  _exit(127);
}

}  // namespace

Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const Surroundings& surroundings) {
  const TemporaryFolder folder;
  if (!surroundings.input.empty()) write_file(folder.file("in"), surroundings.input);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    if (!surroundings.input.empty()) redirect(STDIN_FILENO, folder.file("in"), O_RDONLY);
    redirect(STDOUT_FILENO, folder.file("out"));
    redirect(STDERR_FILENO, folder.file("err"));
    become(program, arguments, surroundings);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("cannot wait for " + program);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(folder.file("out")),
          read_file(folder.file("err"))};
}

Outcome irisgen(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
  Surroundings completed = surroundings;
  completed.environment.emplace("XDG_CACHE_HOME", IRISGEN_TEST_CACHE);
  return run_program(IRISGEN_PROGRAM, arguments, completed);
}

bool runs_on_cpu() {
  const auto machine = nlohmann::json::parse(irisgen({"list", "--json"}).out);
  for (const auto& target : machine["targets"]) {
    if (target["name"] == "host") return !target["compilers"].empty() && target["devices"] != 0;
  }
  return false;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "irisgen_test_XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::map<std::string, std::string> contents_of(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) contents[fs::relative(entry.path(), folder)] = read_file(entry.path());
  }
  return contents;
}

std::string small_spec(std::string_view world) {
  return "irisgen: 1\nkernels:\n  - name: small\n    pattern: all_reduce\n    dtype: f32\n    world: " +
         std::string(world) + "\n    shape: {n: 1001}\n";
}

}  // namespace irisgen::test
