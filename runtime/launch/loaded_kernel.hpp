#pragma once

#include <memory>
#include <span>
#include <string>

#include "iris/code_object.hpp"
#include "iris/device.hpp"
#include "iris/device/abi.hpp"
#include "iris/manifest.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/launch/launch_windows.hpp"
#include "runtime/world/group.hpp"

namespace iris {

/// One kernel of an operation on one rank: its code on the device, and what every launch of it is passed first.
class LoadedKernel {
 public:
  /// Throws if its blocks must run together and do not fit on the device. Loading may wait for the whole device.
  LoadedKernel(const Group::State& group, const Manifest& manifest, std::size_t kernel, const CodeObject& code);

  /// Tells it where the operation's memory lies, which all ranks have at the same offset of their heaps.
  void place(char* base, const KernelLayout& layout, device::Fault* fault);

  /// Of the launches that follow.
  void set_windows(const LaunchWindows& windows) { windows.write_to(device_context_, group_.ranks); }

  /// Where its flag of that number lies, as they are counted in the manifest.
  char* flag(std::int64_t number) const { return reinterpret_cast<char*>(device_context_.flags + number); }

  /// The first of its arguments, where it stays; buffers, extents and tensor maps follow, in the entry's order.
  ArgumentBytes context_argument() const { return {&device_context_, sizeof device_context_}; }
  void launch(int blocks, std::span<const ArgumentBytes> arguments, Stream stream) const;

 private:
  const Group::State& group_;
  const Manifest& manifest_;
  const KernelEntry& entry_;
  std::unique_ptr<Module> module_;
  const Function* function_ = nullptr;
  std::string name_;  // for messages
  device::Context device_context_{};
};

}  // namespace iris
