#pragma once

#include <functional>
#include <span>
#include <string>

#include "runtime/hip/api.hpp"
#include "runtime/system/dynamic_library.hpp"

namespace iris::hip {

/// Fills a table from a library and collects what is not there, so that one sentence names all of it.
class Resolver {
 public:
  explicit Resolver(const DynamicLibrary& library) : library_(library) {}

  const std::string& name() const { return library_.name(); }

  template <class Pointer>
  void resolve(Pointer& slot, const char* symbol) {
    resolve_optional(slot, symbol);
    if (!slot) missing_ += (missing_.empty() ? "" : ", ") + std::string(symbol);
  }
  /// Null where the library lacks it.
  template <class Pointer>
  void resolve_optional(Pointer& slot, const char* symbol) {
    slot = reinterpret_cast<Pointer>(library_.find(symbol));
  }
  void throw_if_missing(const std::string& remedy) const;

 private:
  const DynamicLibrary& library_;
  std::string missing_;
};

/// Opens the first of `names` and lets `fill` make an Api of it. What is thrown on the way becomes `missing`, with
/// `remedy` where no library could be opened.
LoadedApi load_library(std::span<const std::string> names, const std::string& remedy,
                       const std::function<void(Resolver& library, Api& api)>& fill);

}  // namespace iris::hip
