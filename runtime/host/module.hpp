#pragma once

#include <map>
#include <memory>
#include <string>

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
  ~HostModule() override;
  HostModule(const HostModule&) = delete;
  HostModule& operator=(const HostModule&) = delete;

  const Function& function(const std::string& symbol) override;

 private:
  int file_ = -1;  // stays open: the loader knows libraries by path, and the path is this descriptor's number
  void* library_ = nullptr;
  std::map<std::string, HostFunction> functions_;
};

}  // namespace iris::host
