#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/hip/api.hpp"

namespace iris::test {

/// Device memory that irisgen did not allocate, as programs get it: from hipMalloc (cudaMalloc), or by virtual memory
/// management, in several allocations side by side, as PyTorch's expandable segments are. Of the current device, which
/// alone may address what is virtual.
class GpuMemory {
 public:
  enum class Kind { plain, expandable };

  /// Virtual memory lies in two allocations, or in as many of `part` bytes.
  GpuMemory(Kind kind, int device, std::size_t bytes, std::size_t part = 0) : kind_(kind), bytes_(bytes) {
    void* memory = nullptr;
    if (kind == Kind::plain) {
      check(call().hipExtMallocWithFlags(&memory, bytes, hip::malloc_fine_grained), "hipExtMallocWithFlags");
      begin_ = static_cast<char*>(memory);
      return;
    }
    hip::AllocationProperties properties{};
    properties.type = hip::machine_api().api.shareable_memory;
    properties.handle_types = hip::handle_type_file;
    properties.location = {hip::location_device, device};
    std::size_t unit = 0;
    check(call().hipMemGetAllocationGranularity(&unit, &properties, hip::granularity_recommended),
          "hipMemGetAllocationGranularity");
    bytes_ = (bytes + unit - 1) / unit * unit + unit;  // two parts at least
    check(call().hipMemAddressReserve(&memory, bytes_, 0, nullptr, 0), "hipMemAddressReserve");
    begin_ = static_cast<char*>(memory);
    for (std::size_t at = 0; at < bytes_;) {
      const std::size_t size = part != 0 ? std::min(part, bytes_ - at) : at == 0 ? unit : bytes_ - at;
      hip::AllocationHandle handle = nullptr;
      check(call().hipMemCreate(&handle, size, &properties, 0), "hipMemCreate");
      check(call().hipMemMap(begin_ + at, size, 0, handle, 0), "hipMemMap");
      check(call().hipMemRelease(handle), "hipMemRelease");
      sizes_.push_back(size);
      at += size;
    }
    const hip::AccessDescription access{{hip::location_device, device}, hip::access_read_write};
    check(call().hipMemSetAccess(begin_, bytes_, &access, 1), "hipMemSetAccess");
  }
  ~GpuMemory() {
    if (kind_ == Kind::plain) {
      call().hipFree(begin_);
      return;
    }
    char* at = begin_;
    for (const std::size_t size : sizes_) {
      call().hipMemUnmap(at, size);
      at += size;
    }
    call().hipMemAddressFree(begin_, bytes_);
  }
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  char* begin() const { return begin_; }
  /// So that a range of so many bytes from here on lies in two allocations where there are several.
  char* across(std::size_t bytes) const {
    return kind_ == Kind::plain ? begin_ : begin_ + sizes_.front() - bytes / 2 / 256 * 256;
  }

 private:
  static const hip::Functions& call() { return hip::machine_api().api.call; }
  static void check(hip::Error error, const char* function) {
    if (error != hip::success) throw std::runtime_error(std::string(function) + " gives " + std::to_string(error));
  }

  Kind kind_;
  std::size_t bytes_;
  char* begin_ = nullptr;
  std::vector<std::size_t> sizes_ = {};
};

}  // namespace iris::test
