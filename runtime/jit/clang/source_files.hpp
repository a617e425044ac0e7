#pragma once

#include <llvm/ADT/IntrusiveRefCntPtr.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <cstddef>
#include <map>
#include <string>

namespace iris::clang_library {

/// Of a file that is parsed, and of each that it includes.
inline constexpr std::size_t max_source_bytes = 1u << 20;

/// Where `source_files` has its texts.
inline constexpr const char* virtual_folder = "/irisgen";

/// The files of the machine, of which only regular ones of up to max_source_bytes can be read (a device or a pipe may
/// never end), and `texts` by their path in virtual_folder.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> source_files(const std::map<std::string, std::string>& texts);

}  // namespace iris::clang_library
