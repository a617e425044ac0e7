#include "runtime/host/place_of_call.hpp"

#include <dlfcn.h>

#include <cstdint>

namespace iris::host {

std::string place_of_call(const SourceLocator& locate, const void* called_from) {
  Dl_info library = {};
  if (!locate || called_from == nullptr) return "";
  if (dladdr(called_from, &library) == 0 || library.dli_fname == nullptr) return "";
  // The call itself is before the address that it returns to.
  const auto offset = static_cast<const char*>(called_from) - static_cast<const char*>(library.dli_fbase) - 1;
  return locate(library.dli_fname, static_cast<std::uint64_t>(offset));
}

}  // namespace iris::host
