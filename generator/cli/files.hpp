#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "irisgen/output.hpp"
#include "irisgen/plan.hpp"

namespace irisgen::cli {

/// One line for each file that was (or, on a dry run, would be) written or removed, and a closing line.
void print_result(const std::filesystem::path& folder, const WriteResult& result, bool dry_run);

nlohmann::ordered_json result_json(const WriteResult& result);

/// The files that what is made from a specification depends on: itself, unless it came from standard input, and
/// further ones.
std::vector<std::filesystem::path> inputs_of(const std::string& spec, std::vector<std::filesystem::path> further = {});

/// The files that kernels of the user's own have been read from, each once.
std::vector<std::filesystem::path> sources_of(std::span<const Plan> plans);

/// A file that an option names, and how one is told that an earlier run made.
struct NamedFile {
  std::string option;
  std::filesystem::path path;
  bool (*is_ours)(std::string_view content);
};

/// Throws UsageError if writing it would overwrite one of the inputs, or a file that irisgen did not make: better known
/// before the work than after it. An empty path is no file.
void check_named_file(const NamedFile& file, std::span<const std::filesystem::path> inputs);

/// Where files of these names will lie.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder, std::span<const OutputFile> files);

/// Throws UsageError if it is one of these, which the same command writes. An empty path is no file.
void check_apart(const NamedFile& file, std::span<const std::filesystem::path> outputs);

/// Writes a file wherever the command line wants it (iris::write_whole_file); its folder is made if need be. Unlike the
/// files of write_folder it is always written, since build tools look at its time.
void write_file(const std::filesystem::path& path, std::string_view content);

// NamedFile::is_ours of what `generate` and `compile` write besides their folder.
bool is_depfile(std::string_view content);
bool is_embedding(std::string_view content);

/// On standard output, indented. File names that are no UTF-8 are shown with U+FFFD.
void print_json(const nlohmann::ordered_json& json);

/// Where compiled kernels are kept, or that there is no such place and what gives one.
std::string cache_place();

/// One line on standard error if compiled kernels could not be kept, which is no failure but costs time on each run.
void note_cache_problem();

}  // namespace irisgen::cli
