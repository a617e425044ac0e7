#include "generator/cli/files.hpp"

#include <iostream>

#include "generator/emit/folder.hpp"
#include "iris/cache.hpp"

namespace irisgen::cli {

void print_result(const std::filesystem::path& folder, const WriteResult& result, bool dry_run) {
  const char* would = dry_run ? "would be " : "";
  for (const auto& name : result.written)
    std::cout << "  " << would << "written    " << (folder / name).string() << '\n';
  for (const auto& name : result.removed)
    std::cout << "  " << would << "removed    " << (folder / name).string() << '\n';
  for (const auto& name : result.kept) {
    std::cout << "  left alone " << (folder / name).string() << ": no longer made, but changed by hand\n";
  }
  std::cout << folder.string() << ": " << result.written.size() << ' ' << would << "written, "
            << result.unchanged.size() << " unchanged, " << result.removed.size() << ' ' << would << "removed\n";
}

nlohmann::ordered_json to_json(const WriteResult& result) {
  return {
      {"written", result.written}, {"unchanged", result.unchanged}, {"removed", result.removed}, {"kept", result.kept}};
}

std::vector<std::filesystem::path> inputs_of(const std::string& spec) {
  if (spec == "-") return {};
  return {spec};
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
  make_folder(parent);
  Folder(parent).write(path.filename().string(), content);
}

std::string cache_place() {
  const std::string folder = iris::Cache::user_folder().string();
  return folder.empty() ? "no folder (set IRISGEN_CACHE, XDG_CACHE_HOME or HOME)" : folder;
}

void note_cache_problem() {
  const std::string problem = iris::Cache::of_user().problem();
  if (!problem.empty()) std::cerr << "irisgen: note: " << problem << '\n';
}

}  // namespace irisgen::cli
