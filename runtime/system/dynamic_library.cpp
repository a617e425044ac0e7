#include "runtime/system/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

namespace iris {

DynamicLibrary DynamicLibrary::open_first(std::span<const std::string> names) {
  std::string reason;
  bool found_file = false;
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, name};
    const char* text = dlerror();
    // What stands in the way of a library that is there tells more than the absence of another.
    if (found_file) continue;
    std::error_code ignored;
    found_file = name.find('/') != std::string::npos && std::filesystem::exists(name, ignored);
    reason = text != nullptr ? text : name + " cannot be opened";
  }
  throw std::runtime_error(reason);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), name_(std::move(other.name_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(name_, other.name_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

std::string DynamicLibrary::path() const {
  const link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return name_;
  std::error_code error;
  const auto resolved = std::filesystem::canonical(map->l_name, error);
  return error ? name_ : resolved.string();
}

std::string DynamicLibrary::version() const {
  const std::string file = std::filesystem::path(path()).filename().string();
  const std::string mark = ".so.";
  const auto found = file.find(mark);
  return found == std::string::npos ? file : file.substr(found + mark.size());
}

void* DynamicLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

void* DynamicLibrary::get(const char* symbol) const {
  if (void* address = find(symbol)) return address;
  throw std::runtime_error(name_ + " has no function " + symbol);
}

std::string own_file() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&own_file), &info) == 0 || info.dli_fname == nullptr) return {};
  namespace fs = std::filesystem;
  std::error_code error;
  // The loader names the program itself as it was called, which need not be a path from here.
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path named = fs::canonical(info.dli_fname, error);
  const bool is_program = error || named == program || named.filename() == program.filename();
  return (is_program && !program.empty() ? program : named).string();
}

std::vector<std::string> own_search_path() {
  Dl_info info;
  void* own = nullptr;  // glibc's handles are its link maps
  if (dladdr1(reinterpret_cast<const void*>(&own_file), &info, &own, RTLD_DL_LINKMAP) == 0) return {};
  Dl_serinfo size;
  if (dlinfo(own, RTLD_DI_SERINFOSIZE, &size) != 0) return {};
  const auto memory = std::make_unique<std::byte[]>(size.dls_size);
  auto* const found = reinterpret_cast<Dl_serinfo*>(memory.get());
  found->dls_size = size.dls_size;
  found->dls_cnt = size.dls_cnt;
  if (dlinfo(own, RTLD_DI_SERINFO, found) != 0) return {};
  std::vector<std::string> folders;
  folders.reserve(found->dls_cnt);
  for (unsigned i = 0; i < found->dls_cnt; ++i) folders.emplace_back(found->dls_serpath[i].dls_name);
  return folders;
}

}  // namespace iris
