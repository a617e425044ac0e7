#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "iris/jit.hpp"
#include "iris/reference.hpp"
#include "iris/run.hpp"
#include "iris/source_reader.hpp"
#include "tests/runtime/compiler_samples.hpp"

namespace iris::test {

/// Descriptions of kernels of one's own, in a folder of the test's.
class UserKernel : public testing::Test {
 protected:
  void SetUp() override {
    IRISGEN_REQUIRE_COMPILER("clang", "host");
    std::string pattern = (std::filesystem::temp_directory_path() / "irisgen-user-kernel-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

  /// A description of one kernel: function `f` of k.hip, f32, three ranks, n = 12, without a reference. `more` are
  /// further lines of the kernel, such as "    constants: {steps: 2}\n"; one that sets a key again wins.
  static std::string description(const std::string& more = "") {
    std::string text = "irisgen: 1\nkernels:\n  - name: k\n    source: k.hip\n    entry: f\n";
    for (const std::string line :
         {"    dtype: f32\n", "    world: 3\n", "    shape: {n: 12}\n", "    reference: none\n"}) {
      const std::string key = line.substr(0, line.find(':') + 1);
      if (("\n" + more).find("\n" + key) == std::string::npos) text += line;
    }
    return text + more;
  }

  irisgen::Spec spec(const std::string& text) const {
    irisgen::Spec read = irisgen::parse_spec(path("spec.yaml"), text);
    attach_source_reader(read);
    return read;
  }
  irisgen::Plan plan(const std::string& text, std::string_view target = "host") const {
    const irisgen::Spec read = spec(text);
    const irisgen::Target* targets[] = {irisgen::find_target(target)};
    return irisgen::plan_all(read, targets).front();
  }

  /// What is wrong with a kernel whose source is this: every line of the report.
  std::string error_of(const std::string& text, const std::string& source) const {
    write("k.hip", source);
    return problems_of(text);
  }
  std::string problems_of(const std::string& text) const {
    try {
      plan(text);
    } catch (const irisgen::SpecError& error) {
      return error.what();
    }
    return "no error";
  }

  RunReport run(const irisgen::Plan& planned, RunOptions options = {}) const {
    options.reference = reference_of(planned);
    return run_operation(build_operation(planned), options);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace iris::test
