#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "iris/code_object.hpp"
#include "runtime/system/dynamic_library.hpp"

namespace iris {

struct ComgrFunctions;

/// AMD's code object manager, which hiprtc itself is built on: it knows the targets that it can compile for, and reads
/// a code object's metadata.
class Comgr {
 public:
  /// Opens libamd_comgr. Throws std::runtime_error if it is not there.
  Comgr();
  ~Comgr();
  Comgr(Comgr&&) noexcept;

  std::string version() const { return library_.version(); }
  std::string path() const { return library_.path(); }

  /// gfx90a, gfx1030, …, without features.
  std::vector<std::string> targets() const;

  /// Of one kernel of an ELF code object; all absent if it has no metadata or no such kernel.
  Resources resources(const std::vector<std::byte>& code, const std::string& symbol) const;

 private:
  DynamicLibrary library_;
  std::unique_ptr<ComgrFunctions> functions_;
};

}  // namespace iris
