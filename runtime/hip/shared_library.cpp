#include "runtime/hip/shared_library.hpp"

#include <dlfcn.h>

namespace iris::hip {

SharedLibrary::SharedLibrary(std::span<const std::string> names) {
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_) {
      name_ = name;
      return;
    }
    const char* message = dlerror();
    reason_ = message ? message : "cannot open " + name;
  }
}

void* SharedLibrary::address(const char* symbol) const {
  return dlsym(handle_, symbol);
}

}  // namespace iris::hip
