#include "runtime/jit/clang/source_files.hpp"

#include <llvm/Support/MemoryBuffer.h>

namespace iris::clang_library {
namespace {

class RegularFiles : public llvm::vfs::ProxyFileSystem {
 public:
  using ProxyFileSystem::ProxyFileSystem;

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override { return checked(path); }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override {
    // Asked before it is opened: to open a pipe is to wait for who writes to it.
    if (const auto status = checked(path); !status) return status.getError();
    return ProxyFileSystem::openFileForRead(path);
  }

 private:
  llvm::ErrorOr<llvm::vfs::Status> checked(const llvm::Twine& path) {
    auto status = ProxyFileSystem::status(path);
    if (!status || status->isDirectory()) return status;
    if (!status->isRegularFile()) return std::make_error_code(std::errc::no_such_file_or_directory);
    if (status->getSize() > max_source_bytes) return std::make_error_code(std::errc::file_too_large);
    return status;
  }
};

}  // namespace

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> source_files(const std::map<std::string, std::string>& texts) {
  const auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (const auto& [path, text] : texts) {
    memory->addFile(std::string(virtual_folder) + "/" + path, 0, llvm::MemoryBuffer::getMemBuffer(text, path));
  }
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
      llvm::makeIntrusiveRefCnt<RegularFiles>(llvm::vfs::getRealFileSystem()));
  files->pushOverlay(memory);
  return files;
}

}  // namespace iris::clang_library
