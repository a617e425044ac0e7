#include "irisgen/output.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "generator/emit/folder.hpp"
#include "generator/language/unicode.hpp"
#include "generator/manifest/hash.hpp"

namespace irisgen {
namespace {

namespace fs = std::filesystem;

constexpr const char* record_name = ".irisgen.json";

/// Files with the SHA-256 of the content that was written.
using Files = std::map<std::string, std::string>;
/// Of each owner the files written for it.
using Record = std::map<std::string, Files>;

Record read_record(const Folder& folder) {
  const auto text = folder.read(record_name);
  if (!text) return {};
  try {
    const auto json = nlohmann::json::parse(*text);
    auto record = json.at("owners").get<Record>();
    for (const auto& [owner, files] : record) {
      for (const auto& [name, hash] : files) {
        if (!is_plain_name(name)) throw std::runtime_error(name);
      }
    }
    return record;
  } catch (const std::exception&) {
    throw std::runtime_error(folder.path_of(record_name) +
                             " is damaged; delete it together with the files that irisgen wrote there");
  }
}

void write_record(const Folder& folder, const Record& record) {
  const nlohmann::ordered_json json = {
      {"description", "Which files irisgen wrote here, for whom. It removes what it no longer makes."},
      {"owners", record}};
  folder.write(record_name, json.dump(2) + "\n");
}

void check_names(std::span<const OutputFile> files) {
  std::set<std::string_view> names;
  for (const OutputFile& file : files) {
    if (!is_plain_name(file.name)) throw std::runtime_error("'" + file.name + "' is no plain file name");
    if (!names.insert(file.name).second) throw std::runtime_error("'" + file.name + "' would be written twice");
  }
}

/// Bytes that are no UTF-8, which JSON cannot hold, as %XX; the per cent sign, too.
std::string as_utf8(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const CodePoint point = decode(bytes, at);
    if (point.valid && bytes[at] != '%') {
      text += bytes.substr(at, point.bytes);
    } else {
      const auto byte = static_cast<unsigned char>(bytes[at]);
      text += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    at += point.bytes;
  }
  return text;
}

/// The bytes that as_utf8() was given.
std::string from_utf8(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    if (text[at] == '%' &&
        std::from_chars(text.data() + at + 1, text.data() + std::min(at + 3, text.size()), byte, 16).ec ==
            std::errc()) {
      bytes += static_cast<char>(byte);
      at += 2;
    } else {
      bytes += text[at];
    }
  }
  return bytes;
}

/// The description that an owner names, seen from the folder; empty where it came from standard input.
fs::path description_of(const std::string& owner, const fs::path& folder) {
  const std::string name = owner.substr(owner.find(' ') + 1);
  return name == "<stdin>" ? fs::path() : folder / from_utf8(name);
}

/// What one run does to a folder; made before anything is touched.
struct FolderWork {
  std::vector<const OutputFile*> write;
  WriteResult result;
  Record before, during, after;  ///< the record; `during` owns what is being written and what is being removed
};

/// A file of another owner may not be overwritten. One whose description is gone (renamed, say) owns nothing any more:
/// all that it wrote is taken over.
void settle_foreign(const Folder& folder, const std::string& owner, const std::string& name, FolderWork& work) {
  const auto is_foreign = [&](const auto& entry) { return entry.first != owner && entry.second.contains(name); };
  const auto foreign = std::ranges::find_if(work.before, is_foreign);
  if (foreign == work.before.end()) return;
  const fs::path description = description_of(foreign->first, folder.path_of(""));
  std::error_code error;
  if (description.empty() || fs::exists(description, error)) {
    throw std::runtime_error(folder.path_of(name) + " was written for '" + foreign->first +
                             "' and would be overwritten for '" + owner +
                             "'; use another folder, or another name for the kernel");
  }
  const auto files = foreign->second;
  work.after.erase(foreign->first);
  work.before.erase(foreign);
  work.before[owner].insert(files.begin(), files.end());
}

void plan_file(const Folder& folder, const std::string& owner, const OutputFile& file, const WriteOptions& options,
               FolderWork& work) {
  settle_foreign(folder, owner, file.name, work);
  const auto present = folder.read(file.name);
  const std::string hash = iris::sha256_hex(file.content);
  work.after[owner][file.name] = hash;
  if (present == file.content) {
    work.result.unchanged.push_back(file.name);
    return;
  }
  const auto mine = work.before.find(owner);
  const auto known = mine == work.before.end() ? Files::const_iterator() : mine->second.find(file.name);
  if (present && (mine == work.before.end() || known == mine->second.end())) {
    throw std::runtime_error(folder.path_of(file.name) +
                             " is there and was not written by irisgen; move it away, or use another folder");
  }
  if (present && !options.force && iris::sha256_hex(*present) != known->second) {
    work.after[owner][file.name] = known->second;
    work.result.edited.push_back(file.name);
    return;
  }
  work.write.push_back(&file);
  work.result.written.push_back(file.name);
}

void plan_removals(const Folder& folder, const std::string& owner, FolderWork& work) {
  const auto mine = work.before.find(owner);
  if (mine == work.before.end()) return;
  for (const auto& [name, hash] : mine->second) {
    if (work.after.contains(owner) && work.after[owner].contains(name)) continue;
    const auto present = folder.read(name);
    if (!present) continue;
    work.during[owner][name] = hash;
    (iris::sha256_hex(*present) == hash ? work.result.removed : work.result.kept).push_back(name);
  }
}

FolderWork plan_work(const Folder& folder, const std::string& owner, std::span<const OutputFile> files,
                     const WriteOptions& options) {
  FolderWork work;
  work.before = read_record(folder);
  work.after = work.before;
  work.after.erase(owner);
  for (const OutputFile& file : files) plan_file(folder, owner, file, options, work);
  work.during = work.after;
  plan_removals(folder, owner, work);
  return work;
}

std::string escape(const fs::path& path) {
  std::string text;
  for (const char c : path.string()) {
    if (c == '\n')
      throw std::runtime_error("a line break in a path has no place in a dependency file: " + path.string());
    if (c == ' ' || c == '#' || c == '\\' || c == ':') text += '\\';
    if (c == '$') text += '$';
    text += c;
  }
  return text;
}

}  // namespace

WriteResult write_folder(const fs::path& path, const std::string& owner, std::span<const OutputFile> files,
                         const WriteOptions& options) {
  check_names(files);
  if (options.dry_run && !fs::exists(path)) {
    WriteResult result;
    for (const OutputFile& file : files) result.written.push_back(file.name);
    return result;
  }
  make_folder(path);
  const Folder folder(path);
  const FolderWork work = plan_work(folder, owner, files, options);
  if (options.dry_run) return work.result;
  if (work.during != work.before) write_record(folder, work.during);
  for (const OutputFile* file : work.write) folder.write(file->name, file->content);
  for (const std::string& name : work.result.removed) folder.remove(name);
  if (work.after != work.during) write_record(folder, work.after);
  return work.result;
}

std::string owner_of(std::string_view kind, const fs::path& spec, const fs::path& folder) {
  if (folder.empty()) throw std::runtime_error("the folder to write to has an empty name");
  if (spec == "-") return std::string(kind) + " <stdin>";
  const fs::path relative =
      fs::absolute(spec).lexically_normal().lexically_relative((fs::absolute(folder) / "").lexically_normal());
  return std::string(kind) + " " + as_utf8(relative.generic_string());
}

std::string depfile(std::span<const fs::path> outputs, std::span<const fs::path> inputs) {
  std::string text;
  for (const fs::path& output : outputs) text += (text.empty() ? "" : " ") + escape(output);
  text += ":";
  for (const fs::path& input : inputs) text += " \\\n  " + escape(input);
  return text + "\n";
}

}  // namespace irisgen
