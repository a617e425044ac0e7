#pragma once

#include <filesystem>
#include <optional>
#include <string>

/// Folders and files that decide which code a program runs: what another user can have put there is not read. Every
/// call throws std::runtime_error with a sentence that names the file and what to do.
namespace iris {

/// Makes the folder, and those above it that are missing, for this user alone, whatever the umask. Throws as
/// is_private_folder() does, and if the system refuses.
void make_private_folder(const std::filesystem::path& folder);

/// Whether it is there. Throws if it is a link or no folder, belongs to another user, or may be written by others.
bool is_private_folder(const std::filesystem::path& folder);

/// The content of a regular file, or about so many bytes of it; nothing if there is none. Throws for a link, for what
/// is no regular file (without waiting for a pipe's other end), and for a file that belongs to another user or may be
/// written by others.
std::optional<std::string> read_private_file(const std::filesystem::path& file, std::size_t most = std::string::npos);

}  // namespace iris
