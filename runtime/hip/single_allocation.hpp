#pragma once

#include <cstddef>

#include "iris/device.hpp"
#include "runtime/hip/caller.hpp"
#include "runtime/hip/virtual_range.hpp"

namespace iris::hip {

/// A range of one piece, fine-grained memory as hipMalloc gives it. It travels to other processes as an IPC handle, in
/// the content of a file.
class SingleAllocation final : public MemoryRange {
 public:
  /// `clear` must outlive this. Throws if it is to go to other processes, and there are no IPC handles.
  SingleAllocation(const Caller& caller, const RangeOptions& options, Clear clear);
  ~SingleAllocation() override;

  char* begin() const override { return begin_; }
  std::size_t unit() const override { return 1; }
  void add(std::size_t bytes) override;
  void add_imported(int file, std::size_t bytes) override;
  int export_piece(std::size_t number) override;
  void remove_last() noexcept override;

 private:
  const Functions& call() const { return caller_.api->call; }

  Caller caller_;
  Clear clear_;
  char* begin_ = nullptr;
  bool imported_ = false;
};

}  // namespace iris::hip
