#pragma once

#include <memory>
#include <span>
#include <string>

#include "generator/manifest/descriptor.hpp"

namespace iris {

/// A shared library that is loaded from memory, and stays loaded as long as this.
class MemoryLibrary {
 public:
  /// `what` it is, for messages: "the kernel's code object for host". Throws std::runtime_error with the loader's
  /// words.
  MemoryLibrary(std::span<const std::byte> bytes, const std::string& what);

  /// nullptr if it exports none of that name.
  void* find(const std::string& symbol) const;

 private:
  struct Unload {
    void operator()(void* library) const;
  };
  Descriptor file_;  // stays open: the loader knows libraries by path, and the path is this descriptor's number
  std::unique_ptr<void, Unload> library_;
};

}  // namespace iris
