#include "iris/cache.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include "generator/manifest/hash.hpp"
#include "runtime/system/file_lock.hpp"

namespace iris {
namespace {

namespace fs = std::filesystem;

/// A compiler whose every part of the key a test can change.
struct Described : Compiler {
  std::string its_name = "described";
  std::string its_version = "1";
  std::string its_options = "-O3";

  std::string_view name() const override { return its_name; }
  std::string version() const override { return its_version; }
  std::vector<std::string> targets() const override { return {"host"}; }
  std::string options(const irisgen::Target&) const override { return its_options; }
  CodeObject compile(const CompileRequest&) const override { return {}; }
};

CompileRequest make_request() {
  return {.name = "sample.hip", .source = "source", .symbol = "symbol", .target = irisgen::find_target("host")};
}

CodeObject make_code(std::string_view name = "key") {
  CodeObject code;
  code.target = "host";
  code.compiler = "described 1";
  for (const char c : std::string(name) + "'s code\n" + std::string(1, '\0') + " with a zero")
    code.bytes.push_back(static_cast<std::byte>(c));
  code.resources = {7, std::nullopt, 256, 0};
  return code;
}

/// Keys are SHA-256.
std::string key_of(const std::string& name) {
  return sha256_hex(name);
}

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "irisgen-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    fs::permissions(folder, fs::perms::owner_all);
    fs::remove_all(folder);
  }

  CodeObject get(Cache& cache, const std::string& name = "key", int* builds = nullptr) const {
    return cache.get(key_of(name), make_request(), [&] {
      if (builds != nullptr) ++*builds;
      return make_code(name);
    });
  }
  fs::path entry(const std::string& name = "key") const { return folder / "objects" / key_of(name); }

  fs::path folder;
};

TEST(CacheKey, changes_with_every_part) {
  const Described compiler;
  const std::string key = cache_key(make_request(), compiler);
  EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(cache_key(make_request(), compiler), key);

  Described other_name;
  other_name.its_name = "other";
  EXPECT_NE(cache_key(make_request(), other_name), key);
  Described other_version;
  other_version.its_version = "2";
  EXPECT_NE(cache_key(make_request(), other_version), key);
  Described other_options;
  other_options.its_options = "-O2";
  EXPECT_NE(cache_key(make_request(), other_options), key);

  CompileRequest request = make_request();
  request.source += ' ';
  EXPECT_NE(cache_key(request, compiler), key);
  request = make_request();
  request.symbol = "other";
  EXPECT_NE(cache_key(request, compiler), key);
  request = make_request();
  request.target = irisgen::find_target("gfx942");
  EXPECT_NE(cache_key(request, compiler), key);
}

TEST(CacheKey, keeps_parts_apart) {
  Described left;
  left.its_version = "12";
  left.its_options = "3";
  Described right;
  right.its_version = "1";
  right.its_options = "23";
  EXPECT_NE(cache_key(make_request(), left), cache_key(make_request(), right));
}

TEST_F(CacheTest, builds_once_and_then_answers_with_the_same) {
  Cache cache(folder);
  int builds = 0;
  const CodeObject built = get(cache, "key", &builds);
  const CodeObject found = get(cache, "key", &builds);
  EXPECT_EQ(builds, 1);
  EXPECT_FALSE(built.from_cache);
  EXPECT_TRUE(found.from_cache);
  EXPECT_EQ(found.bytes, make_code().bytes);
  EXPECT_EQ(found.target, "host");
  EXPECT_EQ(found.compiler, "described 1");
  EXPECT_EQ(found.resources.registers, 7);
  EXPECT_EQ(found.resources.scalar_registers, std::nullopt);
  EXPECT_EQ(found.resources.shared_bytes, 256);
  EXPECT_EQ(found.resources.spill_bytes, 0);
  EXPECT_EQ(cache.problem(), "");
}

TEST_F(CacheTest, leaves_no_partial_file_and_no_lock) {
  Cache cache(folder);
  get(cache);
  EXPECT_TRUE(fs::is_empty(folder / "partial"));
  EXPECT_TRUE(fs::is_empty(folder / "locks"));
}

TEST_F(CacheTest, rebuilds_an_entry_that_was_cut_short) {
  Cache cache(folder);
  get(cache);
  const auto whole = fs::file_size(entry());
  for (const std::uintmax_t size : {std::uintmax_t{0}, std::uintmax_t{5}, std::uintmax_t{40}, whole - 1}) {
    fs::resize_file(entry(), size);
    int builds = 0;
    EXPECT_EQ(get(cache, "key", &builds).bytes, make_code().bytes);
    EXPECT_EQ(builds, 1) << "cut to " << size;
    EXPECT_EQ(fs::file_size(entry()), whole);
  }
}

TEST_F(CacheTest, rebuilds_an_entry_with_any_byte_of_its_code_changed) {
  Cache cache(folder);
  get(cache);
  const auto whole = fs::file_size(entry());
  for (const std::uintmax_t back : {std::uintmax_t{1}, std::uintmax_t{make_code().bytes.size()}}) {
    std::fstream file(entry(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(whole - back));
    file.put('~');
    file.close();
    int builds = 0;
    EXPECT_EQ(get(cache, "key", &builds).bytes, make_code().bytes);
    EXPECT_EQ(builds, 1);
  }
}

/// Whoever has an entry open goes on to read what it opened: an entry is replaced as a whole, never written into.
TEST_F(CacheTest, never_changes_an_entry_under_a_reader) {
  Cache cache(folder);
  get(cache);
  fs::resize_file(entry(), 40);
  std::ifstream reader(entry(), std::ios::binary);
  get(cache);
  const std::string read((std::istreambuf_iterator<char>(reader)), std::istreambuf_iterator<char>());
  EXPECT_EQ(read.size(), 40u);
  EXPECT_GT(fs::file_size(entry()), 40u);
}

TEST_F(CacheTest, passes_an_error_on_and_keeps_nothing) {
  Cache cache(folder);
  EXPECT_THROW(cache.get(key_of("key"), make_request(), []() -> CodeObject { throw CompileError("broken"); }),
               CompileError);
  EXPECT_FALSE(fs::exists(entry()));
  EXPECT_TRUE(fs::is_empty(folder / "locks"));
  int builds = 0;
  get(cache, "key", &builds);
  EXPECT_EQ(builds, 1);
}

TEST_F(CacheTest, compiles_without_a_folder_that_can_be_written) {
  std::ofstream(folder / "file") << "not a folder";
  Cache cache(folder / "file" / "cache");
  int builds = 0;
  EXPECT_EQ(get(cache, "key", &builds).bytes, make_code().bytes);
  EXPECT_EQ(get(cache, "key", &builds).bytes, make_code().bytes);
  EXPECT_EQ(builds, 2);
  EXPECT_NE(cache.problem().find("is not used"), std::string::npos) << cache.problem();
  EXPECT_NE(cache.problem().find((folder / "file").string()), std::string::npos) << cache.problem();
  EXPECT_TRUE(cache.list().empty());
}

// Appends a line to `log` for every compilation; slow enough for the others to arrive meanwhile.
CodeObject logged_build(const fs::path& log) {
  std::ofstream(log, std::ios::app) << "built\n";
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return make_code();
}

int lines_in(const fs::path& file) {
  std::ifstream stream(file);
  int count = 0;
  for (std::string line; std::getline(stream, line);) ++count;
  return count;
}

TEST_F(CacheTest, compiles_once_for_eight_processes) {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Cache cache(folder / "cache");
      const CodeObject code = cache.get(key_of("key"), make_request(), [&] { return logged_build(folder / "log"); });
      _exit(code.bytes == make_code().bytes && cache.problem().empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(lines_in(folder / "log"), 1);
}

TEST_F(CacheTest, compiles_once_for_eight_threads) {
  Cache cache(folder / "cache");
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const CodeObject code = cache.get(key_of("key"), make_request(), [&] { return logged_build(folder / "log"); });
      right += code.bytes == make_code().bytes ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(lines_in(folder / "log"), 1);
}

TEST_F(CacheTest, is_not_held_up_by_a_process_that_died_while_it_compiled) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Cache cache(folder);
    (void)cache.get(key_of("key"), make_request(), []() -> CodeObject { _exit(0); });
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(fs::exists(folder / "locks" / key_of("key")));
  Cache cache(folder);
  int builds = 0;
  EXPECT_EQ(get(cache, "key", &builds).bytes, make_code().bytes);
  EXPECT_EQ(builds, 1);
}

TEST_F(CacheTest, finds_an_entry_again_while_the_compiler_s_files_are_the_same) {
  Cache cache(folder / "cache");
  get(cache);
  const fs::path library = folder / "library.so";
  fs::copy_file("/proc/self/exe", library);
  EXPECT_FALSE(cache.lookup(key_of("short")));
  cache.remember(key_of("short"), key_of("key"), {library.string()});
  const auto found = cache.lookup(key_of("short"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->from_cache);
  EXPECT_EQ(found->bytes, make_code().bytes);
  fs::remove(library);
  EXPECT_FALSE(cache.lookup(key_of("short")));
}

TEST_F(CacheTest, finds_nothing_again_that_was_cleared_or_damaged) {
  Cache cache(folder);
  get(cache);
  cache.remember(key_of("short"), key_of("key"), {"/proc/self/exe"});
  ASSERT_TRUE(cache.lookup(key_of("short")));
  for (const char* text : {"", "[]", "{}", "{\"key\": \"key\"}", "{\"key\": 1, \"files\": {}}"}) {
    std::ofstream(folder / "lookups" / key_of("short")) << text;
    EXPECT_FALSE(cache.lookup(key_of("short"))) << text;
  }
  cache.remember(key_of("short"), key_of("key"), {"/proc/self/exe"});
  cache.clear();
  EXPECT_FALSE(cache.lookup(key_of("short")));
}

TEST_F(CacheTest, remembers_nothing_of_a_file_without_a_build_id) {
  Cache cache(folder);
  get(cache);
  std::ofstream(folder / "text") << "no ELF file";
  cache.remember(key_of("short"), key_of("key"), {(folder / "text").string()});
  EXPECT_FALSE(cache.lookup(key_of("short")));
  cache.remember(key_of("short"), key_of("key"), {});
  EXPECT_FALSE(cache.lookup(key_of("short")));
}

TEST_F(CacheTest, lists_the_last_used_first_and_clears) {
  Cache cache(folder);
  get(cache, "first");
  get(cache, "second");
  fs::last_write_time(entry("first"), fs::file_time_type::clock::now() - std::chrono::hours(2));
  fs::last_write_time(entry("second"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(cache.list().at(0).key, key_of("second"));
  get(cache, "first");
  const auto entries = cache.list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].key, key_of("first"));
  EXPECT_EQ(entries[0].name, "sample.hip");
  EXPECT_EQ(entries[0].target, "host");
  EXPECT_EQ(entries[0].compiler, "described 1");
  EXPECT_EQ(entries[0].bytes, fs::file_size(entry("first")));
  EXPECT_EQ(cache.clear(), 2u);
  EXPECT_TRUE(cache.list().empty());
  EXPECT_EQ(cache.clear(), 0u);
}

TEST_F(CacheTest, lists_a_damaged_entry_as_such) {
  Cache cache(folder);
  get(cache);
  fs::resize_file(entry(), 3);
  ASSERT_EQ(cache.list().size(), 1u);
  EXPECT_EQ(cache.list()[0].name, "(damaged)");
}

TEST_F(CacheTest, drops_what_was_not_used_for_longest_when_it_is_full) {
  Cache measuring(folder / "measuring");
  get(measuring, "older");
  const auto size = measuring.list().at(0).bytes;

  Cache cache(folder / "cache", 2 * size);
  get(cache, "old");
  get(cache, "older");
  fs::last_write_time(folder / "cache" / "objects" / key_of("old"),
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  fs::last_write_time(folder / "cache" / "objects" / key_of("older"),
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  get(cache, "new");
  std::vector<std::string> keys;
  for (const CacheEntry& kept : cache.list()) keys.push_back(kept.key);
  EXPECT_EQ(keys, (std::vector<std::string>{key_of("new"), key_of("old")}));
}

fs::perms mode_of(const fs::path& path) {
  return fs::status(path).permissions();
}

TEST_F(CacheTest, is_its_owner_s_alone_whatever_the_umask) {
  const mode_t before = umask(0);
  Cache cache(folder / "above" / "cache");
  get(cache);
  umask(before);
  for (const char* part : {"above", "above/cache", "above/cache/objects", "above/cache/partial", "above/cache/locks",
                           "above/cache/lookups"}) {
    EXPECT_EQ(mode_of(folder / part), fs::perms::owner_all) << part;
  }
  EXPECT_EQ(mode_of(folder / "above" / "cache" / "objects" / key_of("key")),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(cache.problem(), "");
}

/// Whoever may write code into the cache has others run it.
TEST_F(CacheTest, does_not_run_what_others_may_have_written) {
  for (const fs::path& open_to_all :
       {fs::path("cache"), fs::path("cache") / "objects", fs::path("cache") / "objects" / key_of("key")}) {
    fs::remove_all(folder / "cache");
    {
      Cache cache(folder / "cache");
      get(cache);
    }
    fs::permissions(folder / open_to_all, fs::perms::others_write, fs::perm_options::add);
    Cache cache(folder / "cache");
    int builds = 0;
    EXPECT_EQ(get(cache, "key", &builds).bytes, make_code().bytes);
    EXPECT_EQ(builds, 1) << open_to_all;
    EXPECT_NE(cache.problem().find((folder / open_to_all).string() + " may be written by other users"),
              std::string::npos)
        << cache.problem();
  }
}

TEST_F(CacheTest, does_not_run_what_belongs_to_others) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  for (const fs::path& foreign :
       {fs::path("cache"), fs::path("cache") / "objects", fs::path("cache") / "objects" / key_of("key")}) {
    fs::remove_all(folder / "cache");
    {
      Cache cache(folder / "cache");
      get(cache);
    }
    ASSERT_EQ(chown((folder / foreign).c_str(), 65534, 65534), 0);
    Cache cache(folder / "cache");
    int builds = 0;
    EXPECT_EQ(get(cache, "key", &builds).bytes, make_code().bytes);
    EXPECT_EQ(builds, 1) << foreign;
    EXPECT_NE(cache.problem().find((folder / foreign).string() + " belongs to user 65534"), std::string::npos)
        << cache.problem();
  }
}

TEST_F(CacheTest, follows_no_link) {
  fs::create_directory(folder / "elsewhere");
  for (const fs::path& link : {fs::path("cache"), fs::path("cache") / "objects"}) {
    fs::remove_all(folder / "cache");
    fs::create_directories((folder / link).parent_path());
    fs::permissions((folder / link).parent_path(), fs::perms::owner_all);
    fs::create_directory_symlink(folder / "elsewhere", folder / link);
    Cache cache(folder / "cache");
    int builds = 0;
    get(cache, "key", &builds);
    EXPECT_EQ(builds, 1);
    EXPECT_TRUE(fs::is_empty(folder / "elsewhere"));
    EXPECT_NE(cache.problem().find("is a symbolic link"), std::string::npos) << cache.problem();
    EXPECT_THROW(cache.clear(), std::runtime_error);
  }
}

TEST_F(CacheTest, does_not_take_one_entry_for_another) {
  Cache cache(folder);
  get(cache, "mine");
  get(cache, "other");
  fs::copy_file(entry("other"), entry("mine"), fs::copy_options::overwrite_existing);
  int builds = 0;
  EXPECT_EQ(get(cache, "mine", &builds).bytes, make_code("mine").bytes);
  EXPECT_EQ(builds, 1);
}

TEST_F(CacheTest, rebuilds_an_entry_with_any_byte_of_its_header_changed) {
  Cache cache(folder);
  get(cache);
  std::ifstream reader(entry(), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(reader)), std::istreambuf_iterator<char>());
  for (std::size_t at = 0; at < whole.size() - make_code().bytes.size(); at += 7) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    std::ofstream(entry(), std::ios::binary) << changed;
    int builds = 0;
    get(cache, "key", &builds);
    EXPECT_EQ(builds, 1) << "byte " << at;
  }
}

TEST_F(CacheTest, does_not_take_one_lookup_for_another_nor_a_path_for_a_key) {
  Cache cache(folder);
  get(cache);
  cache.remember(key_of("short"), key_of("key"), {"/proc/self/exe"});
  ASSERT_TRUE(cache.lookup(key_of("short")));
  fs::copy_file(folder / "lookups" / key_of("short"), folder / "lookups" / key_of("another"));
  EXPECT_FALSE(cache.lookup(key_of("another")));
  fs::copy_file(entry(), folder / "planted");
  for (const std::string key : {"", ".", "../planted", "/etc/passwd"}) {
    std::ofstream(folder / "lookups" / key_of("short"))
        << R"({"short_key": ")" << key_of("short") << R"(", "key": ")" << key << R"(", "files": {}})";
    EXPECT_FALSE(cache.lookup(key_of("short"))) << key;
  }
}

TEST_F(CacheTest, waits_for_no_pipe_and_reads_no_folder) {
  Cache cache(folder);
  get(cache);
  cache.remember(key_of("short"), key_of("key"), {"/proc/self/exe"});
  fs::remove(folder / "lookups" / key_of("short"));
  fs::create_directory(folder / "lookups" / key_of("short"));
  EXPECT_FALSE(cache.lookup(key_of("short")));
  fs::remove(entry());
  ASSERT_EQ(mkfifo(entry().c_str(), 0600), 0);
  int builds = 0;
  get(cache, "key", &builds);
  EXPECT_EQ(builds, 1);
  EXPECT_NE(cache.problem().find("is no regular file"), std::string::npos) << cache.problem();
}

TEST_F(CacheTest, clears_nothing_that_is_not_its_own) {
  fs::create_directory(folder / "objects");
  std::ofstream(folder / "objects" / "main.obj") << "a user's";
  fs::permissions(folder / "objects", fs::perms::owner_all);
  Cache cache(folder);
  EXPECT_THROW(cache.clear(), std::runtime_error);
  get(cache);
  fs::create_directory(folder / "partial" / "sources");
  std::ofstream(folder / "partial" / "notes.txt") << "a user's";
  EXPECT_EQ(cache.clear(), 1u);
  EXPECT_FALSE(fs::exists(entry()));
  EXPECT_TRUE(fs::exists(folder / "objects" / "main.obj"));
  EXPECT_TRUE(fs::exists(folder / "partial" / "sources"));
  EXPECT_TRUE(fs::exists(folder / "partial" / "notes.txt"));
}

TEST_F(CacheTest, clears_the_locks_that_nobody_holds) {
  Cache cache(folder);
  get(cache);
  std::ofstream(folder / "locks" / key_of("left behind"));
  const fs::path held = folder / "locks" / key_of("held");
  const int descriptor = open(held.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(flock(descriptor, LOCK_EX), 0);
  cache.clear();
  EXPECT_FALSE(fs::exists(folder / "locks" / key_of("left behind")));
  EXPECT_TRUE(fs::exists(held));
  close(descriptor);
}

TEST(FileLockTest, gives_up_in_words) {
  const fs::path file = fs::temp_directory_path() / ("irisgen-lock-" + std::to_string(getpid()));
  {
    const FileLock held(file, std::chrono::seconds(1));
    try {
      const FileLock second(file, std::chrono::milliseconds(20));
      FAIL() << "held twice";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(file.string() + " is held by another process"), std::string::npos);
    }
  }
  EXPECT_FALSE(fs::exists(file));
}

/// Sets a variable of the environment, or removes it, and puts it back.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    if (before != nullptr) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(CacheFolder, follows_the_environment) {
  const Variable home("HOME", "/home/someone");
  const Variable own("IRISGEN_CACHE", nullptr);
  {
    const Variable caches("XDG_CACHE_HOME", nullptr);
    EXPECT_EQ(Cache::user_folder(), "/home/someone/.cache/irisgen");
  }
  const Variable caches("XDG_CACHE_HOME", "/caches");
  EXPECT_EQ(Cache::user_folder(), "/caches/irisgen");
  const Variable chosen("IRISGEN_CACHE", "/chosen");
  EXPECT_EQ(Cache::user_folder(), "/chosen");
}

TEST(CacheFolder, does_without_one) {
  const Variable home("HOME", nullptr);
  const Variable caches("XDG_CACHE_HOME", nullptr);
  const Variable own("IRISGEN_CACHE", nullptr);
  Cache cache(Cache::user_folder());
  EXPECT_EQ(cache.get(key_of("key"), make_request(), [] { return make_code(); }).bytes, make_code().bytes);
  EXPECT_NE(cache.problem().find("IRISGEN_CACHE"), std::string::npos);
}

}  // namespace
}  // namespace iris
