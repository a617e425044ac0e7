#include "iris/cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "generator/manifest/hash.hpp"
#include "runtime/jit/cache_entry.hpp"
#include "runtime/system/build_id.hpp"
#include "runtime/system/file_lock.hpp"

namespace iris {
namespace {

namespace fs = std::filesystem;

// An entry is objects/<key>; partial/ holds what is being written, locks/ what is being compiled, lookups/ which
// key a shorter key led to.
constexpr const char* objects = "objects";
constexpr const char* partial = "partial";
constexpr const char* locks = "locks";
constexpr const char* lookups = "lookups";

const char* non_empty(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

/// Tells the least recently used by the file's time; that it may not be set does not matter.
void mark_used(const fs::path& file) {
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

std::optional<CodeObject> load(const fs::path& file) {
  auto code = read_entry(file);
  if (code) mark_used(file);
  return code;
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

CodeObject Cache::get(const std::string& key, const CompileRequest& request, const std::function<CodeObject()>& build) {
  if (folder_.empty()) {
    note_problem("no folder for it: set IRISGEN_CACHE, XDG_CACHE_HOME or HOME");
    return build();
  }
  if (auto code = load(file_of(key))) return *std::move(code);
  return get_locked(key, request, build);
}

CodeObject Cache::get_locked(const std::string& key, const CompileRequest& request,
                             const std::function<CodeObject()>& build) {
  std::optional<FileLock> lock;
  try {
    for (const char* part : {objects, partial, locks, lookups}) fs::create_directories(folder_ / part);
    lock.emplace(folder_ / locks / key);
  } catch (const std::system_error& error) {
    note_problem(error.what());
  }
  // Whoever held the lock before us has probably built it.
  if (auto code = load(file_of(key))) return *std::move(code);
  CodeObject code = build();
  if (lock) keep(key, request, code);
  return code;
}

void Cache::keep(const std::string& key, const CompileRequest& request, const CodeObject& code) {
  try {
    write_entry(file_of(key), folder_ / partial, {request.name, code.target, code.compiler, request.symbol}, code);
    evict();
  } catch (const std::system_error& error) {
    note_problem(error.what());
  }
}

// A lookup is JSON: {"key": …, "files": {path: build-id}}.
std::optional<CodeObject> Cache::lookup(const std::string& short_key) {
  if (folder_.empty()) return std::nullopt;
  std::ifstream stream(folder_ / lookups / short_key);
  const auto known = nlohmann::json::parse(stream, nullptr, false);
  const auto key = known.is_object() ? known.find("key") : known.end();
  const auto files = known.is_object() ? known.find("files") : known.end();
  if (key == known.end() || files == known.end() || !key->is_string() || !files->is_object()) return std::nullopt;
  for (const auto& [path, id] : files->items()) {
    if (id != build_id(path)) return std::nullopt;
  }
  return load(file_of(key->get<std::string>()));
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
    const nlohmann::json known = {{"key", key}, {"files", ids}};
    for (const char* part : {partial, lookups}) fs::create_directories(folder_ / part);
    write_in_cache(folder_ / lookups / short_key, folder_ / partial, {known.dump()});
  } catch (const std::system_error& error) {
    note_problem(error.what());
  } catch (const nlohmann::json::exception&) {
    return;  // a path that is no UTF-8; the long way is still there
  }
}

std::vector<CacheEntry> Cache::list() const {
  std::vector<CacheEntry> entries;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder_ / objects, error)) {
    const auto header = read_header(file.path());
    const std::uint64_t bytes = file.file_size(error);
    if (error) continue;  // gone meanwhile
    const auto last_use = file.last_write_time(error);
    if (error) continue;
    const CacheHeader shown = header.value_or(CacheHeader{"(damaged)", "", "", ""});
    entries.push_back({file.path().filename().string(), shown.name, shown.target, shown.compiler, bytes, last_use});
  }
  std::ranges::sort(entries, std::greater(), &CacheEntry::last_use);
  return entries;
}

std::size_t Cache::clear() {
  if (!fs::exists(folder_ / objects)) return 0;
  std::size_t count = 0;
  for (const auto& file : fs::directory_iterator(folder_ / objects)) count += fs::remove(file.path()) ? 1 : 0;
  fs::remove_all(folder_ / partial);
  fs::remove_all(folder_ / lookups);
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
  for (const auto& file : fs::directory_iterator(folder_ / objects, ignored)) {
    std::error_code gone;
    const File found = {file.path(), file.file_size(gone), file.last_write_time(gone)};
    if (gone) continue;
    total += found.bytes;
    files.push_back(found);
  }
  if (total <= limit_bytes_) return;
  fs::remove_all(folder_ / lookups, ignored);
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
