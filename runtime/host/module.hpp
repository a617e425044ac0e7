#pragma once

#include <map>
#include <string>

#include "iris/device.hpp"
#include "runtime/host/grid.hpp"
#include "runtime/system/memory_library.hpp"

namespace iris::host {

struct HostFunction final : Function {
  Entry entry = nullptr;
};

/// A kernel's shared library, loaded from memory and pointed at the engine.
class HostModule final : public Module {
 public:
  /// Throws std::runtime_error with the loader's own words if the bytes are no such library.
  explicit HostModule(const CodeObject& code);

  const Function& function(const std::string& symbol) override;

 private:
  MemoryLibrary library_;
  std::map<std::string, HostFunction> functions_;
};

}  // namespace iris::host
