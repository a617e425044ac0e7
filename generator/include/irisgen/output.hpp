#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "irisgen/generate.hpp"

namespace irisgen {

/// What became of each file, by name.
struct WriteResult {
  std::vector<std::string> written;
  std::vector<std::string> unchanged;  ///< not touched: their times stay
  std::vector<std::string> removed;    ///< of an earlier run, no longer made
  std::vector<std::string> kept;       ///< no longer made, but changed by hand since: left alone
  std::vector<std::string> edited;     ///< would be written anew, but changed by hand since: left alone
};

struct WriteOptions {
  bool dry_run = false;  ///< tell, but touch nothing
  bool force = false;    ///< write anew what was changed by hand, too
};

/// Makes `folder` hold these files for `owner` (a specification and what is made of it), in place of those that an
/// earlier run wrote for the same owner, or for one whose specification is gone. `.irisgen.json` in the folder records
/// who wrote what. Throws
/// std::runtime_error, before anything is written, if a file belongs to another owner, was not written by irisgen and
/// differs, or is a link; and if the system refuses.
WriteResult write_folder(const std::filesystem::path& folder, const std::string& owner,
                         std::span<const OutputFile> files, const WriteOptions& options = {});

/// The owner to name for a specification whose output of that kind ("generate", "compile") goes to `folder`: the same
/// from whatever working directory.
std::string owner_of(std::string_view kind, const std::filesystem::path& spec, const std::filesystem::path& folder);

/// A dependency file as Make and Ninja read it: every output is made from every input.
std::string depfile(std::span<const std::filesystem::path> outputs, std::span<const std::filesystem::path> inputs);

}  // namespace irisgen
