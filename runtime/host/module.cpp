#include "runtime/host/module.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>

#include "runtime/host/scheduler.hpp"

namespace iris::host {

namespace {

constexpr const char* engine_variable = "iris_host_engine";

std::runtime_error cannot_load(const std::string& why) {
  return std::runtime_error("cannot load the kernel's code object for host: " + why);
}

/// A library that was cut short may well load: it is mapped, and the process dies where its end should be. The table of
/// sections is the last thing in the file.
void check_whole(std::span<const std::byte> bytes) {
  Elf64_Ehdr header{};
  if (bytes.size() < sizeof header) return;  // the loader says so
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::size_t table = std::size_t{header.e_shnum} * header.e_shentsize;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shoff == 0) return;
  if (header.e_shoff <= bytes.size() && table <= bytes.size() - header.e_shoff) return;
  throw cannot_load("it is cut short; compile it again");
}

}  // namespace

HostModule::HostModule(const CodeObject& code) : file_(::memfd_create("irisgen-kernel", MFD_CLOEXEC)) {
  check_whole(code.bytes);
  const std::string_view bytes(reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size());
  if (file_.get() < 0 || !write_all(file_.get(), bytes)) throw cannot_load(std::strerror(errno));
  library_.reset(::dlopen(file_.path().c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library_ == nullptr) throw cannot_load(::dlerror());
  auto* engine = static_cast<const device::Engine**>(::dlsym(library_.get(), engine_variable));
  if (engine == nullptr) throw cannot_load("it does not export " + std::string(engine_variable));
  *engine = &Scheduler::table();
}

void HostModule::Unload::operator()(void* library) const {
  ::dlclose(library);
}

const Function& HostModule::function(const std::string& symbol) {
  HostFunction& function = functions_[symbol];
  if (function.entry == nullptr) {
    const std::string entry = symbol + "_host";
    function.entry = reinterpret_cast<Entry>(::dlsym(library_.get(), entry.c_str()));
    if (function.entry == nullptr) {
      functions_.erase(symbol);
      throw std::runtime_error("the code object for host has no entry '" + entry + "'");
    }
  }
  return function;
}

}  // namespace iris::host
