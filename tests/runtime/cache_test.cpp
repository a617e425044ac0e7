#include "iris/cache.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "cache_fixture.hpp"
#include "tests/runtime/variable.hpp"

namespace iris::cache_test {
namespace {

using test::Variable;

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

TEST_F(CacheTest, lists_by_the_header_without_reading_the_code) {
  Cache cache(folder);
  get(cache);
  std::fstream file(entry(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('?');  // now read as a whole it is not whole
  file.close();
  EXPECT_EQ(cache.list().at(0).name, "sample.hip");
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
}  // namespace iris::cache_test
