#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "irisgen/output.hpp"

namespace irisgen::cli {

/// One line for each file that was (or, on a dry run, would be) written or removed, and a closing line.
void print_result(const std::filesystem::path& folder, const WriteResult& result, bool dry_run);

nlohmann::ordered_json to_json(const WriteResult& result);

/// The files that what is made from a specification depends on: none where it came from standard input.
std::vector<std::filesystem::path> inputs_of(const std::string& spec);

/// Writes one file wherever the command line wants it, whole or not at all; its folder is made if need be. Unlike the
/// files of write_folder it is always written, since build tools look at its time.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Where compiled kernels are kept, or that there is no such place and what gives one.
std::string cache_place();

/// One line on standard error if compiled kernels could not be kept, which is no failure but costs time on each run.
void note_cache_problem();

}  // namespace irisgen::cli
