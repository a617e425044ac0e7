#include "iris/cache.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "generator/manifest/hash.hpp"
#include "runtime/jit/cache_entry.hpp"
#include "runtime/system/build_id.hpp"
#include "runtime/system/file_lock.hpp"
#include "runtime/system/private_files.hpp"

namespace iris {
namespace {

namespace fs = std::filesystem;

// An entry is objects/<key>; partial/ holds what is being written, locks/ what is being compiled, lookups/ which
// key a shorter key led to. Keys are SHA-256, so that no other file has the name of one.
constexpr const char* objects = "objects";
constexpr const char* partial = "partial";
constexpr const char* locks = "locks";
constexpr const char* lookups = "lookups";

// The mark of a cache (https://bford.info/cachedir): backups leave it out, and only what has ours is cleared.
constexpr const char* tag_name = "CACHEDIR.TAG";
constexpr std::string_view tag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# The cache of compiled kernels of irisgen; `irisgen cache clear` empties it.\n";

/// How long a process may compile what another one waits for.
constexpr std::chrono::minutes longest_compilation(1);

bool is_key(std::string_view name) {
  constexpr std::size_t digits = 64;
  return name.size() == digits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Of one folder of the cache, the regular files that are named as the cache names them.
template <typename IsOurs>
std::vector<fs::directory_entry> files_of(const fs::path& folder, const IsOurs& is_ours) {
  std::vector<fs::directory_entry> files;
  if (!is_private_folder(folder)) return files;
  std::error_code gone;
  for (const auto& file : fs::directory_iterator(folder, gone)) {
    if (file.symlink_status(gone).type() == fs::file_type::regular && is_ours(file.path().filename().string()))
      files.push_back(file);
  }
  return files;
}

const char* non_empty(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

/// Tells the least recently used by the file's time; that it may not be set does not matter.
void mark_used(const fs::path& file) {
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

}  // namespace

std::string cache_key(const CompileRequest& request, const Compiler& compiler) {
  // Each part with its length, so that no two lists of parts read the same.
  std::string text;
  const auto add = [&text](std::string_view part) {
    text += std::to_string(part.size());
    text += ':';
    text += part;
  };
  add(compiler.name());
  add(compiler.version());
  add(compiler.options(*request.target));
  add(request.target->name);
  add(request.symbol);
  add(request.line_tables ? "line tables" : "");
  add(request.watch_stores ? "watched stores" : "");
  add(request.source);
  return sha256_hex(text);
}

Cache::Cache(fs::path folder, std::uint64_t limit_bytes) : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

fs::path Cache::user_folder() {
  if (const char* folder = non_empty("IRISGEN_CACHE")) return folder;
  if (const char* caches = non_empty("XDG_CACHE_HOME")) return fs::path(caches) / "irisgen";
  if (const char* home = non_empty("HOME")) return fs::path(home) / ".cache" / "irisgen";
  return {};
}

Cache& Cache::of_user() {
  static Cache cache(user_folder());
  return cache;
}

fs::path Cache::file_of(const std::string& key) const {
  return folder_ / objects / key;
}

std::optional<CodeObject> Cache::load(const std::string& key) {
  if (!is_private_folder(folder_) || !is_private_folder(folder_ / objects)) return std::nullopt;
  auto stored = read_entry(file_of(key));
  if (!stored || stored->header.key != key) return std::nullopt;
  mark_used(file_of(key));
  return std::move(stored->code);
}

CodeObject Cache::get(const std::string& key, const CompileRequest& request, const std::function<CodeObject()>& build) {
  if (folder_.empty()) {
    note_problem("no folder for it: set IRISGEN_CACHE, XDG_CACHE_HOME or HOME");
    return build();
  }
  const auto find = [&]() -> std::optional<CodeObject> {
    try {
      return load(key);
    } catch (const std::runtime_error& error) {
      note_problem(error.what());
      return std::nullopt;
    }
  };
  if (auto code = find()) return *std::move(code);
  const std::unique_ptr<FileLock> lock = prepare(key);
  // Whoever held the lock before us has probably built it.
  if (auto code = find()) return *std::move(code);
  CodeObject code = build();
  if (lock) keep(key, request, code);
  return code;
}

std::unique_ptr<FileLock> Cache::prepare(const std::string& key) {
  try {
    make_private_folder(folder_);
    for (const char* part : {objects, partial, locks, lookups}) make_private_folder(folder_ / part);
    if (!fs::exists(folder_ / tag_name)) write_in_cache(folder_ / tag_name, folder_ / partial, {tag});
    return std::make_unique<FileLock>(folder_ / locks / key, longest_compilation);
  } catch (const std::runtime_error& error) {
    note_problem(error.what());
    return nullptr;
  }
}

void Cache::keep(const std::string& key, const CompileRequest& request, const CodeObject& code) {
  try {
    write_entry(file_of(key), folder_ / partial, {key, request.name, code.target, code.compiler, request.symbol}, code);
    evict();
  } catch (const std::runtime_error& error) {
    note_problem(error.what());
  }
}

// A lookup is JSON: {"short_key": …, "key": …, "files": {path: build-id}}.
std::optional<CodeObject> Cache::lookup(const std::string& short_key) try {
  if (folder_.empty() || !is_private_folder(folder_) || !is_private_folder(folder_ / lookups)) return std::nullopt;
  const auto text = read_private_file(folder_ / lookups / short_key);
  if (!text) return std::nullopt;
  const auto known = nlohmann::json::parse(*text);
  const auto key = known.at("key").get<std::string>();
  if (known.at("short_key") != short_key || !is_key(key)) return std::nullopt;
  for (const auto& [path, id] : known.at("files").get<std::map<std::string, std::string>>()) {
    if (id != build_id(path)) return std::nullopt;
  }
  return load(key);
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
} catch (const std::runtime_error& error) {
  note_problem(error.what());
  return std::nullopt;
}

void Cache::remember(const std::string& short_key, const std::string& key, const std::vector<std::string>& files) {
  if (folder_.empty() || files.empty()) return;
  nlohmann::json ids = nlohmann::json::object();
  for (const std::string& file : files) {
    const std::string id = build_id(file);
    if (id.empty()) return;
    ids[file] = id;
  }
  try {
    const nlohmann::json known = {{"short_key", short_key}, {"key", key}, {"files", ids}};
    for (const char* part : {partial, lookups}) make_private_folder(folder_ / part);
    write_in_cache(folder_ / lookups / short_key, folder_ / partial, {known.dump()});
  } catch (const std::runtime_error& error) {
    note_problem(error.what());
  } catch (const nlohmann::json::exception&) {
    return;  // a path that is no UTF-8; the long way is still there
  }
}

std::vector<CacheEntry> Cache::list() const {
  std::vector<CacheEntry> entries;
  if (folder_.empty() || !is_private_folder(folder_)) return entries;
  for (const auto& file : files_of(folder_ / objects, is_key)) {
    std::error_code gone;
    const std::uint64_t bytes = file.file_size(gone);
    const auto last_use = file.last_write_time(gone);
    if (gone) continue;
    const std::string key = file.path().filename().string();
    const auto header = read_header(file.path());
    const CacheHeader shown = header && header->key == key ? *header : CacheHeader{key, "(damaged)", "", "", ""};
    entries.push_back({key, shown.name, shown.target, shown.compiler, bytes, last_use});
  }
  std::ranges::sort(entries, std::greater(), &CacheEntry::last_use);
  return entries;
}

std::size_t Cache::clear() {
  if (folder_.empty() || !is_private_folder(folder_) || !is_private_folder(folder_ / objects)) return 0;
  if (read_private_file(folder_ / tag_name) != tag) {
    throw std::runtime_error(folder_.string() + " was not made by irisgen: it has no " + tag_name +
                             " of it; nothing is removed");
  }
  std::size_t count = 0;
  for (const auto& file : files_of(folder_ / objects, is_key)) count += fs::remove(file.path()) ? 1 : 0;
  for (const auto& file : files_of(folder_ / lookups, is_key)) fs::remove(file.path());
  for (const auto& file : files_of(folder_ / partial, is_partial_name)) fs::remove(file.path());
  for (const auto& file : files_of(folder_ / locks, is_key)) FileLock::remove_if_free(file.path());
  return count;
}

void Cache::evict() const {
  struct File {
    fs::path path;
    std::uint64_t bytes;
    fs::file_time_type last_use;
  };
  std::vector<File> files;
  std::uint64_t total = 0;
  std::error_code ignored;
  for (const auto& file : files_of(folder_ / objects, is_key)) {
    std::error_code gone;
    const File found = {file.path(), file.file_size(gone), file.last_write_time(gone)};
    if (gone) continue;
    total += found.bytes;
    files.push_back(found);
  }
  if (total <= limit_bytes_) return;
  for (const auto& file : files_of(folder_ / lookups, is_key)) fs::remove(file.path(), ignored);
  std::ranges::sort(files, {}, &File::last_use);
  for (const File& file : files) {
    if (total <= limit_bytes_) break;
    if (fs::remove(file.path, ignored)) total -= file.bytes;
  }
}

std::string Cache::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void Cache::note_problem(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (problem_.empty())
    problem_ =
        (folder_.empty() ? "the cache is not used: " : "the cache in " + folder_.string() + " is not used: ") + reason;
}

}  // namespace iris
