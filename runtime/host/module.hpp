#pragma once

#include <map>
#include <memory>
#include <string>

#include "generator/manifest/descriptor.hpp"
#include "iris/device.hpp"
#include "runtime/host/grid.hpp"

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
  struct Unload {
    void operator()(void* library) const;
  };
  Descriptor file_;  // stays open: the loader knows libraries by path, and the path is this descriptor's number
  std::unique_ptr<void, Unload> library_;
  std::map<std::string, HostFunction> functions_;
};

}  // namespace iris::host
