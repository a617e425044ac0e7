#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <future>
#include <stdexcept>

#include "runtime/jit/compilers/table.hpp"
#include "tests/runtime/compiler_samples.hpp"
#include "tests/runtime/variable.hpp"

namespace iris::compilers_test {
namespace {

using samples::error_of;
using samples::request;

struct Case {
  const char* compiler;
  const char* target;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.compiler) + "_" + info.param.target;
}

class EachCompiler : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { IRISGEN_REQUIRE_COMPILER(GetParam().compiler, GetParam().target); }
  const Compiler& compiler() const { return *samples::find_compiler(GetParam().compiler); }
  const irisgen::Target& target() const { return *irisgen::find_target(GetParam().target); }
  std::string good() const { return samples::good_source(target().platform); }
};

INSTANTIATE_TEST_SUITE_P(Compilers, EachCompiler,
                         testing::Values(Case{"clang", "host"}, Case{"clang", "gfx90a"}, Case{"clang", "gfx942"},
                                         Case{"clang", "gfx950"}, Case{"hiprtc", "gfx90a"}, Case{"hiprtc", "gfx942"},
                                         Case{"hiprtc", "gfx950"}, Case{"nvrtc", "sm_90a"}),
                         name_of);

TEST_P(EachCompiler, makes_an_elf_file_with_its_resources) {
  const CodeObject code = compiler().compile(request(target(), good()));
  ASSERT_GT(code.bytes.size(), 64u);
  EXPECT_EQ(std::memcmp(code.bytes.data(),
                        "\x7f"
                        "ELF",
                        4),
            0);
  EXPECT_EQ(code.target, GetParam().target);
  EXPECT_EQ(code.compiler, std::string(GetParam().compiler) + " " + compiler().version());
  EXPECT_FALSE(code.from_cache);
  const bool gpu = target().platform != irisgen::Platform::host;
  EXPECT_EQ(code.resources.registers.value_or(0) > 0, gpu);
  EXPECT_EQ(code.resources.shared_bytes, gpu ? std::optional(256) : std::nullopt);
  EXPECT_EQ(code.resources.spill_bytes, gpu ? std::optional(0) : std::nullopt);
  EXPECT_EQ(code.resources.scalar_registers.has_value(), target().platform == irisgen::Platform::amd);
}

TEST_P(EachCompiler, makes_the_same_bytes_again) {
  EXPECT_EQ(compiler().compile(request(target(), good())).bytes, compiler().compile(request(target(), good())).bytes);
}

TEST_P(EachCompiler, says_where_an_error_is_and_quotes_the_line) {
  const std::string error = error_of(compiler(), request(target(), "\n\nint   broken = missing + 1;\n"));
  EXPECT_NE(error.find("sample.hip:3:16: error: "), std::string::npos) << error;
  EXPECT_NE(error.find("int   broken = missing + 1;"), std::string::npos) << error;
}

TEST_P(EachCompiler, says_nothing_on_the_process_s_own_streams) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  (void)error_of(compiler(), request(target(), "broken\n"));
  (void)compiler().compile(request(target(), good()));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST_P(EachCompiler, works_on_many_threads_at_once) {
  std::vector<std::future<CodeObject>> results;
  for (int i = 0; i < 6; ++i) {
    results.push_back(std::async(std::launch::async, [&] { return compiler().compile(request(target(), good())); }));
  }
  const CodeObject first = results[0].get();
  for (std::size_t i = 1; i < results.size(); ++i) EXPECT_EQ(results[i].get().bytes, first.bytes);
}

std::string deep_expression() {
  return "extern \"C\" int triple(int x) { return " + std::string(2'000'000, '!') + "x; }\n";
}

// In a process of its own: hiprtc and NVRTC cannot be used again after a crash.
TEST_P(EachCompiler, survives_a_crash_of_the_compiler) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const std::string error = error_of(compiler(), request(target(), deep_expression()));
        const bool told = error.find("sample.hip: error: the compiler crashed") != std::string::npos;
        const std::string second = error_of(compiler(), request(target(), good()));
        const bool goes_on = second.empty() || second.find("crashed earlier") != std::string::npos;
        std::exit(told && goes_on ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

class ClangTest : public testing::Test {
 protected:
  void SetUp() override { IRISGEN_REQUIRE_COMPILER("clang", "host"); }
  std::string host_error(std::string source) const {
    return error_of(*samples::find_compiler("clang"), request(*irisgen::find_target("host"), std::move(source)));
  }
};

TEST_F(ClangTest, goes_on_after_each_kind_of_crash) {
  for (const char* kind : {"crash", "parser_crash", "llvm_fatal_error"}) {
    const std::string error = host_error("#pragma clang __debug " + std::string(kind) + "\n");
    EXPECT_NE(error.find("sample.hip: error: the compiler crashed: "), std::string::npos) << kind << ": " << error;
    EXPECT_EQ(host_error(samples::good_source(irisgen::Platform::host)), "") << "after " << kind;
  }
}

TEST_F(ClangTest, leaves_the_signal_handlers_as_they_were) {
  struct sigaction before = {};
  struct sigaction after = {};
  sigaction(SIGSEGV, nullptr, &before);
  (void)host_error("#pragma clang __debug crash\n");
  sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST_F(ClangTest, finds_no_header_on_the_disk) {
  const std::string error = host_error("#include \"/etc/hostname\"\n#include <stdio.h>\n");
  EXPECT_NE(error.find("'/etc/hostname' file not found"), std::string::npos) << error;
}

TEST_F(ClangTest, refuses_a_host_kernel_that_needs_foreign_functions) {
  const std::string error = host_error(
      "extern \"C\" int system(const char*);\nvoid lost(int);\n"
      "extern \"C\" void triple(float*) { system(\"\"); lost(1); }\n");
  EXPECT_NE(error.find("sample.hip: error: 'system' is used but not defined"), std::string::npos) << error;
  EXPECT_NE(error.find("sample.hip: error: 'lost(int)' is used but not defined"), std::string::npos) << error;
}

TEST_F(ClangTest, makes_a_library_that_runs) {
  const CodeObject code = samples::find_compiler("clang")->compile(
      request(*irisgen::find_target("host"), samples::good_source(irisgen::Platform::host)));
  const int file = memfd_create("kernel", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(write(file, code.bytes.data(), code.bytes.size()), static_cast<ssize_t>(code.bytes.size()));
  void* library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto triple = reinterpret_cast<void (*)(float*)>(dlsym(library, "triple"));
  ASSERT_NE(triple, nullptr);
  float value = 1.25f;
  triple(&value);
  EXPECT_EQ(value, 3.75f);
  dlclose(library);
  close(file);
}

TEST(Hiprtc, names_the_temporary_folder_that_it_cannot_write) {
  IRISGEN_REQUIRE_COMPILER("hiprtc", "gfx90a");
  const irisgen::Target& target = *irisgen::find_target("gfx90a");
  const test::Variable nowhere("TMPDIR", "/no such folder");
  EXPECT_EQ(error_of(*samples::find_compiler("hiprtc"), request(target, samples::good_source(target.platform))),
            "sample.hip: error: hiprtc keeps files in the temporary folder /no such folder, where nothing can be "
            "written: No such file or directory; set TMPDIR to a folder that can be written");
}

TEST(FindClang, tells_what_is_wrong_with_the_library_that_the_environment_names) {
  const char* before = std::getenv("IRISGEN_CLANG_LIBRARY");
  const std::string restore = before == nullptr ? "" : before;
  setenv("IRISGEN_CLANG_LIBRARY", "/nowhere/libirisgen_clang.so", 1);
  const FoundCompiler found = find_clang();
  before == nullptr ? unsetenv("IRISGEN_CLANG_LIBRARY") : setenv("IRISGEN_CLANG_LIBRARY", restore.c_str(), 1);
  const auto* missing = std::get_if<MissingCompiler>(&found);
  ASSERT_NE(missing, nullptr);
  EXPECT_NE(missing->reason.find("/nowhere/libirisgen_clang.so"), std::string::npos) << missing->reason;
  EXPECT_NE(missing->remedy.find("libclang-cpp22"), std::string::npos) << missing->remedy;
}

std::string find_error(const Compilers& compilers, const irisgen::Target& target, std::string_view preferred = {}) {
  try {
    (void)compilers.find(target, preferred);
    return {};
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(FindCompiler, names_the_package_when_none_is_there) {
  Compilers none;
  none.missing = {
      {"clang", "no library", "install A"}, {"hiprtc", "no hip", "install B"}, {"nvrtc", "no cuda", "install C"}};
  EXPECT_EQ(find_error(none, *irisgen::find_target("gfx942")),
            "no compiler for gfx942 on this machine\n  clang: no library; install A\n  hiprtc: no hip; install B");
  EXPECT_EQ(find_error(none, *irisgen::find_target("sm_90a")),
            "no compiler for sm_90a on this machine\n  nvrtc: no cuda; install C");
  EXPECT_EQ(find_error(none, *irisgen::find_target("sm_90a"), "nvrtc"),
            "nvrtc is not on this machine: no cuda; install C");
  EXPECT_EQ(find_error(none, *irisgen::find_target("host"), "gcc"),
            "there is no compiler 'gcc'; one of: hiprtc, clang, nvrtc");
}

/// Does two targets and compiles nothing.
class Named : public Compiler {
 public:
  Named(std::string name, std::vector<std::string> targets) : name_(std::move(name)), targets_(std::move(targets)) {}
  std::string_view name() const override { return name_; }
  std::string version() const override { return "1.2"; }
  std::vector<std::string> targets() const override { return targets_; }
  std::string options(const irisgen::Target&) const override { return {}; }
  CodeObject compile(const CompileRequest&) const override { return {}; }

 private:
  std::string name_;
  std::vector<std::string> targets_;
};

TEST(FindCompiler, takes_the_first_that_does_the_target_or_the_one_that_is_named) {
  Compilers both;
  both.present.push_back(std::make_unique<Named>("hiprtc", std::vector<std::string>{"gfx90a"}));
  both.present.push_back(std::make_unique<Named>("clang", std::vector<std::string>{"host", "gfx90a", "gfx942"}));
  EXPECT_EQ(both.find(*irisgen::find_target("gfx90a")).name(), "hiprtc");
  EXPECT_EQ(both.find(*irisgen::find_target("gfx942")).name(), "clang");
  EXPECT_EQ(both.find(*irisgen::find_target("gfx90a"), "clang").name(), "clang");
  EXPECT_EQ(find_error(both, *irisgen::find_target("gfx942"), "hiprtc"),
            "hiprtc 1.2 does not compile for gfx942; its targets are: gfx90a");
}

TEST(FindCompiler, prefers_hiprtc_to_clang_on_this_machine) {
  IRISGEN_REQUIRE_COMPILER("hiprtc", "gfx90a");
  EXPECT_EQ(Compilers::instance().find(*irisgen::find_target("gfx90a")).name(), "hiprtc");
}

}  // namespace
}  // namespace iris::compilers_test
