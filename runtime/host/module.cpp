#include "runtime/host/module.hpp"

#include <stdexcept>

#include "runtime/host/scheduler.hpp"

namespace iris::host {

namespace {

constexpr const char* engine_variable = "iris_host_engine";

constexpr const char* what = "the kernel's code object for host";

}  // namespace

HostModule::HostModule(const CodeObject& code) : library_(code.bytes, what) {
  auto* engine = static_cast<const device::Engine**>(library_.find(engine_variable));
  if (engine == nullptr) {
    throw std::runtime_error("cannot load " + std::string(what) + ": it does not export " + engine_variable);
  }
  *engine = &Scheduler::table();
  if (auto* hook = static_cast<StoreHook*>(library_.find(store_hook_variable))) *hook = Scheduler::store_hook();
}

const Function& HostModule::function(const std::string& symbol) {
  HostFunction& function = functions_[symbol];
  if (function.entry == nullptr) {
    const std::string entry = symbol + "_host";
    function.entry = reinterpret_cast<Entry>(library_.find(entry));
    if (function.entry == nullptr) {
      functions_.erase(symbol);
      throw std::runtime_error("the code object for host has no entry '" + entry + "'");
    }
  }
  return function;
}

}  // namespace iris::host
