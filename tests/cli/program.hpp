#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace irisgen::test {

/// What a run of the program came to.
struct Outcome {
  int code = -1;  ///< exit code; 128 + signal if one ended it
  std::string out;
  std::string err;
};

struct Surroundings {
  std::filesystem::path folder = {};                    ///< working directory; empty: the test's own
  std::map<std::string, std::string> environment = {};  ///< on top of the test's own
  std::string input = {};                               ///< standard input; empty: the test's own
};

/// Runs a program with these arguments. Standard output and error are files, not terminals.
Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const Surroundings& surroundings = {});

/// Runs the built irisgen. Its cache is one of the build's own, shared by the tests.
Outcome irisgen(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});

/// Whether it can compile kernels for the CPU and run them there.
bool runs_on_cpu();

/// A new empty folder, removed at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view content);

/// Every file below a folder by its relative path, with its content.
std::map<std::string, std::string> contents_of(const std::filesystem::path& folder);

/// A specification of one small kernel: all_reduce of f32 named `small`, two worlds unless told otherwise.
std::string small_spec(std::string_view world = "[2, 3]");

}  // namespace irisgen::test
