#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "iris/code_object.hpp"
#include "iris/compiler.hpp"

namespace iris {

/// SHA-256 over everything that the code depends on: compiler, its version and options, target, symbol and source.
std::string cache_key(const CompileRequest& request, const Compiler& compiler);

/// One line of `irisgen cache list`.
struct CacheEntry {
  std::string key;
  std::string name;
  std::string target;
  std::string compiler;
  std::uint64_t bytes;  ///< of the file
  std::filesystem::file_time_type last_use;
};

class FileLock;

/// Code objects on disk, found by their content's key. Safe among threads and processes: one of them compiles a key,
/// the others wait for it, a minute at most. What is damaged is built again; where nothing can be written, everything
/// works without. What is read is executed: folders and files that belong to another user, or that others may write,
/// are not used, and problem() says so.
class Cache {
 public:
  static constexpr std::uint64_t default_limit = std::uint64_t{1} << 30;

  /// Kept below `limit_bytes` by dropping what has not been used for longest. Nothing is created yet.
  explicit Cache(std::filesystem::path folder, std::uint64_t limit_bytes = default_limit);

  /// In $IRISGEN_CACHE, else $XDG_CACHE_HOME/irisgen, else $HOME/.cache/irisgen.
  static Cache& of_user();
  /// Where of_user() would be now.
  static std::filesystem::path user_folder();

  /// The entry, or what `build` makes, which is then kept. Passes on what `build` throws.
  CodeObject get(const std::string& key, const CompileRequest& request, const std::function<CodeObject()>& build);

  /// What `remember` was told under this shorter key, without a compiler being opened: the code, if every file of its
  /// compiler is still the one that it was. Nothing otherwise.
  std::optional<CodeObject> lookup(const std::string& short_key);
  /// `short_key` led to `key`, compiled by a compiler made of `files`. Does nothing where a file cannot be told from
  /// another by its build-id.
  void remember(const std::string& short_key, const std::string& key, const std::vector<std::string>& files);

  /// Most recently used first, as the entries' headers say: whether the code is whole is looked at when it is used.
  /// Throws as clear() does.
  std::vector<CacheEntry> list() const;
  /// Removes every entry, and nothing that is not the cache's; returns how many there were. Throws std::runtime_error
  /// where the folder was not made by a cache, and for what others can have put there.
  std::size_t clear();

  const std::filesystem::path& folder() const { return folder_; }
  /// Why results are not kept, as a sentence; empty as long as they are.
  std::string problem() const;

 private:
  std::filesystem::path file_of(const std::string& key) const;
  /// Nothing where the entry is not there or not whole. Throws std::runtime_error for what others can have put there.
  std::optional<CodeObject> load(const std::string& key);
  /// The folders and the lock to build an entry under; nullptr, with the problem noted, where it cannot be kept.
  std::unique_ptr<FileLock> prepare(const std::string& key);
  void keep(const std::string& key, const CompileRequest& request, const CodeObject& code);
  void evict() const;
  void note_problem(const std::string& reason);

  std::filesystem::path folder_;
  std::uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::string problem_;
};

}  // namespace iris
