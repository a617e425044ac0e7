#pragma once

#include <span>
#include <string>

namespace iris::hip {

/// A library opened at run time. It stays open until the process ends: GPU drivers keep threads and exit handlers of
/// their own, so closing one under them is not safe.
class SharedLibrary {
 public:
  /// The first of `names` that can be opened.
  explicit SharedLibrary(std::span<const std::string> names);

  bool opened() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }
  /// Why none could be opened: the loader's message for the last name.
  const std::string& reason() const { return reason_; }

  /// Sets `slot` to the function, or to null and notes the name as missing.
  template <class Pointer>
  void resolve(Pointer& slot, const char* symbol) {
    slot = optional<Pointer>(symbol);
    if (!slot) missing_ += (missing_.empty() ? "" : ", ") + std::string(symbol);
  }
  /// The function, or null.
  template <class Pointer>
  Pointer optional(const char* symbol) const {
    return reinterpret_cast<Pointer>(address(symbol));
  }
  /// Names that resolve() did not find, separated by commas.
  const std::string& missing() const { return missing_; }

 private:
  void* address(const char* symbol) const;

  void* handle_ = nullptr;
  std::string name_;
  std::string reason_;
  std::string missing_;
};

}  // namespace iris::hip
