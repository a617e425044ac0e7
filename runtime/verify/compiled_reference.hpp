#pragma once

#include "irisgen/source.hpp"
#include "runtime/system/memory_library.hpp"

namespace iris {

/// The function of a reference's source, which Clang compiles for the CPU.
class CompiledReference {
 public:
  /// Throws what the compiler has to say, or that there is none.
  explicit CompiledReference(const irisgen::ReferenceSource& source);

  /// As declared in the source.
  template <typename Function>
  Function* function() const {
    return reinterpret_cast<Function*>(symbol_);
  }

 private:
  MemoryLibrary library_;
  void* symbol_;
};

}  // namespace iris
