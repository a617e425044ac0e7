// What options name: files that are written, and what they must not do to others. Where code comes from.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/program.hpp"

namespace irisgen::test::files_test {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override { write_file(spec, small_spec("2")); }

  Outcome generate(const std::string& depfile) const {
    return irisgen({"generate", spec, "-o", folder.file("out"), "--target", "host", "--depfile", depfile});
  }
  Outcome compile(const std::string& embed) const {
    return irisgen({"compile", spec, "-o", folder.file("out"), "--target", "host", "--embed", embed});
  }

  TemporaryFolder folder;
  std::string spec = folder.file("spec.yaml");
};

TEST_F(Files, AreNotWrittenOverTheDescription) {
  for (const Outcome& outcome : {generate(spec), compile(spec)}) {
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(spec + " would overwrite an input"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(read_file(spec), small_spec("2"));
  fs::create_symlink(spec, folder.file("link"));
  EXPECT_EQ(generate(folder.file("link")).code, 2);
  EXPECT_EQ(read_file(spec), small_spec("2"));
}

TEST_F(Files, AreNotWrittenOverWhatIrisgenDidNotMake) {
  write_file(folder.file("notes.txt"), "a user's notes\n");
  for (const Outcome& outcome : {generate(folder.file("notes.txt")), compile(folder.file("notes.txt"))}) {
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("notes.txt is there and was not written by irisgen"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(read_file(folder.file("notes.txt")), "a user's notes\n");
  EXPECT_FALSE(fs::exists(folder.file("out")));
}

TEST_F(Files, AreTwoWhereTwoAreAskedFor) {
  const std::string one = folder.file("one");
  const Outcome outcome =
      irisgen({"compile", spec, "-o", folder.file("out"), "--target", "host", "--embed", one, "--depfile", one});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--depfile " + one + " names a file that is written as " + one), std::string::npos)
      << outcome.err;
  EXPECT_FALSE(fs::exists(one));
}

/// Neither those of the same command nor launchers, which another one has written.
TEST_F(Files, AreNotWrittenOverOneAnother) {
  const std::string out = folder.file("out");
  const auto expect_refused = [&](const std::vector<std::string>& command, const std::string& words) {
    const Outcome outcome = irisgen(command);
    EXPECT_EQ(outcome.code, 2) << words;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
  };
  const std::vector<std::string> generates = {"generate", spec, "-o", out, "--target", "host"};
  const std::vector<std::string> compiles = {"compile", spec, "-o", out, "--target", "host"};
  const auto with = [](std::vector<std::string> words, const std::string& option, const std::string& file) {
    words.insert(words.end(), {option, file});
    return words;
  };
  ASSERT_EQ(irisgen(with(generates, "--depfile", folder.file("d"))).code, 0);
  ASSERT_EQ(irisgen(with(compiles, "--depfile", folder.file("e"))).code, 0);
  std::string launcher;
  std::string code;
  for (const auto& entry : fs::directory_iterator(out)) {
    if (entry.path().extension() == ".hpp") launcher = entry.path().string();
    if (entry.path().extension() == ".so") code = entry.path().string();
  }
  const std::string before = read_file(launcher);
  expect_refused(with(compiles, "--embed", launcher), "was not written by irisgen");
  EXPECT_EQ(read_file(launcher), before);
  fs::remove(launcher);
  fs::remove(code);
  expect_refused(with(generates, "--depfile", out + "/./" + fs::path(launcher).filename().string()),
                 "names a file that is written as " + launcher);
  expect_refused(with(compiles, "--embed", code), "names a file that is written as " + code);
  expect_refused(with(compiles, "--depfile", code), "names a file that is written as " + code);
  EXPECT_FALSE(fs::exists(launcher));
  EXPECT_FALSE(fs::exists(code));
}

TEST_F(Files, AreWrittenAgain) {
  for (int i = 0; i < 2; ++i) {
    const Outcome dependencies = generate(folder.file("spec.d"));
    EXPECT_EQ(dependencies.code, 0) << dependencies.err;
    const Outcome code = irisgen({"compile", spec, "-o", folder.file("code"), "--target", "host", "--embed",
                                  folder.file("code.cpp"), "--license", "SPDX-License-Identifier: MIT"});
    EXPECT_EQ(code.code, 0) << code.err;
  }
}

TEST_F(Files, LeaveALinkALink) {
  write_file(folder.file("target.d"), "");
  fs::create_symlink(folder.file("target.d"), folder.file("link.d"));
  EXPECT_EQ(generate(folder.file("link.d")).code, 0);
  EXPECT_TRUE(fs::is_symlink(folder.file("link.d")));
  EXPECT_NE(read_file(folder.file("target.d")).find("spec.yaml"), std::string::npos);
}

TEST_F(Files, AreWrittenIntoADeviceOrPipe) {
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::jthread reader([&] { read = read_file(pipe); });
  EXPECT_EQ(generate(pipe).code, 0);
  reader.join();
  EXPECT_NE(read.find("spec.yaml"), std::string::npos);
  EXPECT_TRUE(fs::is_fifo(pipe));

  const std::string null = folder.file("null");
  if (mknod(null.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) GTEST_SKIP() << "only root can make a device node";
  EXPECT_EQ(generate(null).code, 0);
  EXPECT_TRUE(fs::is_character_file(null));
}

TEST_F(Files, OfOutputsSpareInputsAndOthers) {
  const auto run = [&](const std::string& input, const std::string& output) {
    std::vector<std::string> arguments = {"run", spec, "--output", "output=" + output};
    if (!input.empty()) arguments.insert(arguments.end(), {"--input", "input=" + input});
    return irisgen(arguments);
  };
  const std::string sums = folder.file("sum{rank}.npy");
  EXPECT_EQ(run("", sums).code, 0);
  EXPECT_EQ(run("", sums).code, 0);  // of an earlier run
  const std::string before = read_file(folder.file("sum0.npy"));
  const Outcome own = run(sums, sums);
  EXPECT_EQ(own.code, 2);
  EXPECT_NE(own.err.find("would overwrite an input"), std::string::npos) << own.err;
  EXPECT_EQ(read_file(folder.file("sum0.npy")), before);
  write_file(folder.file("text1"), "a user's");
  EXPECT_EQ(run("", folder.file("text{rank}")).code, 2);
  EXPECT_EQ(read_file(folder.file("text1")), "a user's");
}

TEST_F(Files, WithNamesThatAreNoUtf8AreNamedAllTheSame) {
  const std::string strange = folder.file("a\xff.yaml");
  write_file(strange, small_spec("2"));
  for (int i = 0; i < 2; ++i) {
    const Outcome generated =
        irisgen({"generate", strange, "-o", folder.file("out\xfe"), "--target", "host", "--json"});
    EXPECT_EQ(generated.code, 0) << generated.err;
    const Outcome compiled = irisgen({"compile", strange, "-o", folder.file("code\xfe"), "--target", "host", "--json"});
    EXPECT_EQ(compiled.code, 0) << compiled.err;
  }
  const std::map<std::string, std::string> environment = {{"IRISGEN_CACHE", folder.file("cache\xfd")}};
  EXPECT_EQ(irisgen({"cache", "list", "--json"}, {.environment = environment}).code, 0);
  EXPECT_EQ(irisgen({"doctor", "--json"}, {.environment = environment}).code, 0);
}

TEST_F(Files, OfARenamedDescriptionAreTakenOver) {
  const std::vector<std::string> arguments = {"-o", folder.file("out"), "--target", "host"};
  const auto generate_from = [&](const std::string& name) {
    std::vector<std::string> all = {"generate", folder.file(name)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return irisgen(all);
  };
  EXPECT_EQ(generate_from("spec.yaml").code, 0);
  write_file(folder.file("other.yaml"), small_spec("2"));
  EXPECT_EQ(generate_from("other.yaml").code, 1);  // spec.yaml is there
  fs::remove(spec);
  const Outcome taken = generate_from("other.yaml");
  EXPECT_EQ(taken.code, 0) << taken.err;
}

TEST_F(Files, OfADescriptionWhoseNameIsNoUtf8AreNotTakenOverWhileItIsThere) {
  for (const char* name : {"a\xff.yaml", "a%41.yaml"}) {
    const std::string out = folder.file(std::string("out of ") + name);
    write_file(folder.file(name), small_spec("2"));
    ASSERT_EQ(irisgen({"generate", folder.file(name), "-o", out, "--target", "host"}).code, 0);
    const Outcome other = irisgen({"generate", spec, "-o", out, "--target", "host"});
    EXPECT_EQ(other.code, 1);
    EXPECT_NE(other.err.find("was written for"), std::string::npos) << other.err;
    fs::remove(folder.file(name));
    EXPECT_EQ(irisgen({"generate", spec, "-o", out, "--target", "host"}).code, 0);
  }
}

TEST_F(Files, EditedByHandAreKeptUnlessForced) {
  const auto generate_again = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", spec, "-o", folder.file("out"), "--target", "host"});
    return irisgen(more);
  };
  ASSERT_EQ(generate_again({}).code, 0);
  const std::string kernel = folder.file("out/small.w2.host.hip");
  write_file(kernel, "// mine\n");
  for (int i = 0; i < 2; ++i) {
    const Outcome kept = generate_again({});
    EXPECT_EQ(kept.code, 0);
    EXPECT_NE(kept.out.find(kernel + ": changed by hand; --force writes it anew"), std::string::npos) << kept.out;
    EXPECT_EQ(read_file(kernel), "// mine\n");
  }
  EXPECT_EQ(generate_again({"--force"}).code, 0);
  EXPECT_NE(read_file(kernel), "// mine\n");
}

TEST_F(Files, OfCodeAreNotTakenFromBesideACopyOfTheProgram) {
  const fs::path copy = folder.path() / "bin" / "irisgen";
  fs::create_directories(copy.parent_path());
  fs::copy_file(IRISGEN_PROGRAM, copy);
  for (const char* planted : {"runtime/jit/clang", "lib/irisgen", "bin", "bin/irisgen.d"}) {
    fs::create_directories(folder.path() / planted);
    write_file(folder.path() / planted / "libirisgen_clang.so", "planted");
  }
  fs::permissions(folder.path() / "lib/irisgen", fs::perms::others_write, fs::perm_options::add);
  const Outcome outcome = run_program(copy, {"doctor"});
  EXPECT_EQ(outcome.out.find("invalid ELF header"), std::string::npos) << outcome.out;
}

/// Libraries as large as Clang's end the process where they cannot have their memory.
TEST_F(Files, WithoutRoomForACompilerAreAnErrorInWords) {
  for (const char* limit : {"ulimit -v 150000", "ulimit -v 280000", "ulimit -v 370000", "ulimit -v 500000"}) {
    const Outcome outcome =
        run_program("/bin/bash", {"-c", std::string(limit) + "; exec \"$0\" run \"$1\"", IRISGEN_PROGRAM, spec},
                    {.environment = {{"IRISGEN_CACHE", folder.file("cache")}}});
    EXPECT_EQ(outcome.code, 1) << limit;
    EXPECT_NE(outcome.err.find("raise the limit (ulimit -v)"), std::string::npos) << limit << ": " << outcome.err;
    EXPECT_EQ(outcome.err.find("install"), std::string::npos) << outcome.err;
  }
}

TEST_F(Files, RunKeepsWhatIsFinishedWhereALaterKernelFails) {
  write_file(spec,
             "irisgen: 1\ndefaults: {pattern: all_reduce, dtype: f32, world: 2}\nkernels:\n"
             "  - {name: first, shape: {n: 10}}\n  - {name: second, shape: {n: 1000000000}}\n");
  const Outcome outcome =
      run_program("/bin/bash", {"-c", "ulimit -v 3000000; exec \"$0\" run \"$1\" --json", IRISGEN_PROGRAM, spec},
                  {.environment = {{"IRISGEN_CACHE", folder.file("cache")}}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("\"first\""), std::string::npos);
  EXPECT_NE(outcome.out.find("\"error\""), std::string::npos);
  EXPECT_NE(outcome.err.find("irisgen: error: "), std::string::npos);
}

TEST_F(Files, WithoutANameAreSaidToHaveNone) {
  for (const auto& [arguments, named] : {std::pair{std::vector<std::string>{"check", ""}, "SPEC"},
                                         {{"generate", spec, "-o", ""}, "--output-dir"},
                                         {{"lint", "--list", "--sarif", ""}, "--sarif"},
                                         {{"lint", "--list", "--sarif=", "--json"}, "--sarif"}}) {
    const Outcome outcome = irisgen(arguments);
    EXPECT_EQ(outcome.code, 2);
    const std::string told = std::string("irisgen: error: ") + named + ": must not be empty\n";
    EXPECT_EQ(outcome.err.substr(0, told.size()), told);
  }
}

TEST_F(Files, ThatAreFoldersAreNamed) {
  fs::create_directory(folder.file("folder.npy"));
  const Outcome outcome = irisgen({"run", spec, "--input", "input=" + folder.file("folder.npy")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("folder.npy: is a folder"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace irisgen::test::files_test
