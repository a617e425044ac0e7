#include "irisgen/output.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>

namespace irisgen::output_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Names = std::vector<std::string>;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class OutputFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / ("irisgen_output_" + std::to_string(::getpid()) + "_" + test->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
    folder_ = root_ / "out";
  }
  void TearDown() override { fs::remove_all(root_); }

  /// Everything in the folder but the record.
  Names present() const {
    Names names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::erase(names, ".irisgen.json");
    std::ranges::sort(names);
    return names;
  }

  fs::path root_;
  fs::path folder_;
};

TEST_F(OutputFolder, IsMadeAndFilled) {
  const std::vector<OutputFile> files = {{"a.hip", "first"}, {"a.json", std::string("\0\xff", 2)}};
  const WriteResult result = write_folder(folder_, "generate a.yaml", files);
  EXPECT_EQ(result.written, (Names{"a.hip", "a.json"}));
  EXPECT_EQ(present(), (Names{"a.hip", "a.json"}));
  EXPECT_EQ(read(folder_ / "a.hip"), "first");
  EXPECT_EQ(read(folder_ / "a.json"), std::string("\0\xff", 2));
}

TEST_F(OutputFolder, LeavesUnchangedFilesUntouched) {
  write_folder(folder_, "generate a.yaml", std::vector<OutputFile>{{"same", "1"}, {"new", "2"}});
  const auto past = fs::file_time_type::clock::now() - 24h;
  for (const char* name : {"same", "new", ".irisgen.json"}) fs::last_write_time(folder_ / name, past);
  const auto before = fs::last_write_time(folder_ / "same");

  const WriteResult changed =
      write_folder(folder_, "generate a.yaml", std::vector<OutputFile>{{"same", "1"}, {"new", "3"}});
  EXPECT_EQ(changed.unchanged, Names{"same"});
  EXPECT_EQ(changed.written, Names{"new"});
  EXPECT_EQ(fs::last_write_time(folder_ / "same"), before);
  EXPECT_NE(fs::last_write_time(folder_ / "new"), before);

  fs::last_write_time(folder_ / ".irisgen.json", past);
  write_folder(folder_, "generate a.yaml", std::vector<OutputFile>{{"same", "1"}, {"new", "3"}});
  EXPECT_EQ(fs::last_write_time(folder_ / ".irisgen.json"), before);
}

TEST_F(OutputFolder, LosesWhatIsNoLongerMade) {
  write_folder(folder_, "generate a.yaml", std::vector<OutputFile>{{"stays", "1"}, {"goes", "2"}});
  write(folder_ / "mine.cpp", "by hand");
  const WriteResult result = write_folder(folder_, "generate a.yaml", std::vector<OutputFile>{{"stays", "1"}});
  EXPECT_EQ(result.removed, Names{"goes"});
  EXPECT_EQ(present(), (Names{"mine.cpp", "stays"}));
  EXPECT_EQ(write_folder(folder_, "generate a.yaml", {}).removed, Names{"stays"});
  EXPECT_EQ(present(), Names{"mine.cpp"});
}

TEST_F(OutputFolder, KeepsAStaleFileThatWasChangedByHand) {
  write_folder(folder_, "generate a.yaml", std::vector<OutputFile>{{"goes", "2"}});
  write(folder_ / "goes", "2, and an hour's work");
  const WriteResult result = write_folder(folder_, "generate a.yaml", {});
  EXPECT_TRUE(result.removed.empty());
  EXPECT_EQ(result.kept, Names{"goes"});
  EXPECT_EQ(read(folder_ / "goes"), "2, and an hour's work");
}

TEST_F(OutputFolder, ServesSeveralOwners) {
  write(root_ / "b.yaml", "");
  write_folder(folder_, "generate ../a.yaml", std::vector<OutputFile>{{"a", "1"}});
  write_folder(folder_, "generate ../b.yaml", std::vector<OutputFile>{{"b", "2"}});
  EXPECT_EQ(write_folder(folder_, "generate ../a.yaml", {}).removed, Names{"a"});
  EXPECT_EQ(present(), Names{"b"});
  const std::string message = message_of(
      [&] { write_folder(folder_, "generate ../a.yaml", std::vector<OutputFile>{{"c", "3"}, {"b", "other"}}); });
  EXPECT_NE(message.find("written for 'generate ../b.yaml'"), std::string::npos) << message;
  EXPECT_EQ(read(folder_ / "b"), "2");
  EXPECT_EQ(present(), Names{"b"}) << "something was written before the error was found";
}

/// A description that was renamed: what it wrote belongs to its new name.
TEST_F(OutputFolder, TakesOverFromAnOwnerThatIsGone) {
  write_folder(folder_, "generate ../old.yaml", std::vector<OutputFile>{{"kept", "1"}, {"dropped", "2"}});
  const WriteResult result =
      write_folder(folder_, "generate ../new.yaml", std::vector<OutputFile>{{"kept", "changed"}});
  EXPECT_EQ(result.written, Names{"kept"});
  EXPECT_EQ(result.removed, Names{"dropped"});
  EXPECT_EQ(present(), Names{"kept"});
}

TEST_F(OutputFolder, KeepsWhatWasEditedUnlessForced) {
  write_folder(folder_, "generate a.yaml", std::vector<OutputFile>{{"a", "1"}, {"b", "1"}});
  write(folder_ / "a", "by hand");
  const std::vector<OutputFile> files = {{"a", "2"}, {"b", "2"}};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(write_folder(folder_, "generate a.yaml", files).edited, Names{"a"});
    EXPECT_EQ(read(folder_ / "a"), "by hand");
    EXPECT_EQ(read(folder_ / "b"), "2");
  }
  EXPECT_EQ(write_folder(folder_, "generate a.yaml", files, {.force = true}).written, Names{"a"});
  EXPECT_EQ(read(folder_ / "a"), "2");
  EXPECT_TRUE(write_folder(folder_, "generate a.yaml", files).edited.empty());
}

TEST_F(OutputFolder, DoesNotOverwriteWhatItDidNotWrite) {
  fs::create_directories(folder_);
  write(folder_ / "a.hpp", "by hand");
  const std::vector<OutputFile> files = {{"a.hip", "1"}, {"a.hpp", "2"}};
  const std::string message = message_of([&] { write_folder(folder_, "generate a.yaml", files); });
  EXPECT_NE(message.find("was not written by irisgen"), std::string::npos) << message;
  EXPECT_EQ(read(folder_ / "a.hpp"), "by hand");
  EXPECT_EQ(present(), Names{"a.hpp"});
}

TEST_F(OutputFolder, AdoptsAnEqualFileWhoseRecordWasLost) {
  const std::vector<OutputFile> files = {{"a.hip", "1"}};
  write_folder(folder_, "generate a.yaml", files);
  fs::remove(folder_ / ".irisgen.json");
  EXPECT_EQ(write_folder(folder_, "generate a.yaml", files).unchanged, Names{"a.hip"});
  EXPECT_EQ(write_folder(folder_, "generate a.yaml", {}).removed, Names{"a.hip"});
}

TEST_F(OutputFolder, IsNeverLeftByANameOrALink) {
  for (const std::string name : {"../escape", "/tmp/escape", "sub/file", "..", ".", "", ".hidden", "a\nb"}) {
    EXPECT_NE(message_of([&] { write_folder(folder_, "o", std::vector<OutputFile>{{name, "x"}}); }),
              "nothing was thrown")
        << name;
  }
  EXPECT_FALSE(fs::exists(root_ / "escape"));

  fs::create_directories(folder_);
  write(root_ / "victim", "precious");
  for (const char* name : {"a.hip", ".irisgen.json", ".irisgen.unfinished"}) {
    fs::create_symlink(root_ / "victim", folder_ / name);
    message_of([&] { write_folder(folder_, "o", std::vector<OutputFile>{{"a.hip", "x"}}); });
    EXPECT_EQ(read(root_ / "victim"), "precious") << name;
    fs::remove(folder_ / name);
    fs::remove(folder_ / "a.hip");
    fs::remove(folder_ / ".irisgen.json");
  }
  fs::create_symlink(root_ / "victim", folder_ / "a.hip");
  const std::string message = message_of([&] { write_folder(folder_, "o", std::vector<OutputFile>{{"a.hip", "x"}}); });
  EXPECT_NE(message.find("is a symbolic link"), std::string::npos) << message;
}

TEST_F(OutputFolder, IsNotLeftThroughItsRecord) {
  fs::create_directories(folder_);
  write(root_ / "victim", "precious");
  write(folder_ / ".irisgen.json", R"({"owners": {"o": {"../victim": "00"}}})");
  const std::string message = message_of([&] { write_folder(folder_, "o", {}); });
  EXPECT_NE(message.find("is damaged"), std::string::npos) << message;
  EXPECT_EQ(read(root_ / "victim"), "precious");
}

TEST_F(OutputFolder, RefusesADamagedRecord) {
  fs::create_directories(folder_);
  for (const char* record : {"", "not JSON", "[]", R"({"owners": 3})", R"({"owners": {"o": ["a"]}})"}) {
    write(folder_ / ".irisgen.json", record);
    const std::string message = message_of([&] { write_folder(folder_, "o", std::vector<OutputFile>{{"a", "1"}}); });
    EXPECT_NE(message.find("is damaged"), std::string::npos) << record;
  }
}

TEST_F(OutputFolder, IsNotTouchedByADryRun) {
  const std::vector<OutputFile> files = {{"a", "1"}};
  EXPECT_EQ(write_folder(folder_, "o", files, {.dry_run = true}).written, Names{"a"});
  EXPECT_FALSE(fs::exists(folder_));
  write_folder(folder_, "o", files);
  const WriteResult result = write_folder(folder_, "o", std::vector<OutputFile>{{"b", "2"}}, {.dry_run = true});
  EXPECT_EQ(result.written, Names{"b"});
  EXPECT_EQ(result.removed, Names{"a"});
  EXPECT_EQ(present(), Names{"a"});
}

TEST_F(OutputFolder, NamesAFileGivenTwice) {
  const std::vector<OutputFile> files = {{"a", "1"}, {"a", "2"}};
  EXPECT_EQ(message_of([&] { write_folder(folder_, "o", files); }), "'a' would be written twice");
}

TEST_F(OutputFolder, SaysWhyItCannotBeMade) {
  write(root_ / "out", "a file");
  EXPECT_NE(message_of([&] { write_folder(folder_, "o", {}); }).find("out"), std::string::npos);
}

TEST(OwnerOf, IsTheSameFromEveryWorkingDirectory) {
  const fs::path home = fs::current_path();
  EXPECT_EQ(owner_of("generate", "specs/a.yaml", "build/kernels"), "generate ../../specs/a.yaml");
  EXPECT_EQ(owner_of("generate", home / "specs/a.yaml", "build/kernels/"), "generate ../../specs/a.yaml");
  EXPECT_EQ(owner_of("compile", "./specs/../a.yaml", "."), "compile a.yaml");
}

TEST(OwnerOf, TakesStandardInputForWhatItIs) {
  EXPECT_EQ(owner_of("generate", "-", "build/kernels"), "generate <stdin>");
  EXPECT_THROW(owner_of("generate", "a.yaml", ""), std::runtime_error);
}

TEST(Depfile, ListsEveryOutputAndInput) {
  const std::vector<fs::path> outputs = {"out/a.hip", "out/a.json"};
  const std::vector<fs::path> inputs = {"a.yaml", "/usr/bin/irisgen"};
  EXPECT_EQ(depfile(outputs, inputs), "out/a.hip out/a.json: \\\n  a.yaml \\\n  /usr/bin/irisgen\n");
}

TEST(Depfile, EscapesWhatMakeWouldRead) {
  const std::vector<fs::path> outputs = {"my out/$a#1"};
  const std::vector<fs::path> inputs = {"b c.yaml"};
  EXPECT_EQ(depfile(outputs, inputs), "my\\ out/$$a\\#1: \\\n  b\\ c.yaml\n");
}

TEST(Depfile, RefusesALineBreakWhichItCannotExpress) {
  const std::vector<std::filesystem::path> outputs = {"a.hpp"};
  const std::vector<std::filesystem::path> inputs = {"b\nc.yaml"};
  EXPECT_THROW(depfile(outputs, inputs), std::runtime_error);
}

}  // namespace
}  // namespace irisgen::output_test
