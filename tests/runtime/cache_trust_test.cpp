// What the cache reads, removes and waits for: nothing that others have put there.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "cache_fixture.hpp"
#include "runtime/system/file_lock.hpp"

namespace iris::cache_trust_test {
namespace {

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

}  // namespace
}  // namespace iris::cache_trust_test
