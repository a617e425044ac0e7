#include "runtime/system/memory_library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace iris {
namespace {

/// A library that was cut short may well load: it is mapped, and the process dies where its end should be. The table of
/// sections is the last thing in the file.
bool is_whole(std::span<const std::byte> bytes) {
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof header) return true;  // the loader says so
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t table = std::size_t{header.e_shnum} * header.e_shentsize;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shoff == 0) return true;
  return header.e_shoff <= bytes.size() && table <= bytes.size() - header.e_shoff;
}

}  // namespace

MemoryLibrary::MemoryLibrary(std::span<const std::byte> bytes, const std::string& what)
    : file_(::memfd_create("irisgen", MFD_CLOEXEC)) {
  const auto cannot_load = [&](const std::string& why) {
    return std::runtime_error("cannot load " + what + ": " + why);
  };
  if (!is_whole(bytes)) throw cannot_load("it is cut short; compile it again");
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (file_.get() < 0 || !write_all(file_.get(), content)) throw cannot_load(std::strerror(errno));
  library_.reset(::dlopen(file_.path().c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library_ == nullptr) throw cannot_load(::dlerror());
}

void MemoryLibrary::Unload::operator()(void* library) const {
  ::dlclose(library);
}

void* MemoryLibrary::find(const std::string& symbol) const {
  return ::dlsym(library_.get(), symbol.c_str());
}

}  // namespace iris
