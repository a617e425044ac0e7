#include "runtime/hip/virtual_range.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/system/whole_units.hpp"

namespace iris::hip {
VirtualRange::VirtualRange(const Caller& caller, const RangeOptions& options, Clear clear)
    : caller_(caller), exported_(options.among_processes), devices_(options.devices), clear_(std::move(clear)) {
  devices_.push_back(caller_.device);
  std::ranges::sort(devices_);
  devices_.erase(std::ranges::unique(devices_).begin(), devices_.end());
  const AllocationProperties wanted = properties();
  caller_.check(call().hipMemGetAllocationGranularity(&unit_, &wanted, granularity_recommended),
                "hipMemGetAllocationGranularity");
  const std::size_t bytes = whole_units(options.bytes, unit_);
  void* memory = nullptr;
  caller_.check(call().hipMemAddressReserve(&memory, bytes, 0, nullptr, 0), "hipMemAddressReserve",
                byte_count(bytes) + " of addresses");
  begin_ = static_cast<char*>(memory);
  reserved_ = bytes;
}

/// Perhaps on another thread than the rank's. Nobody can act on a failure here.
VirtualRange::~VirtualRange() {
  if (call().hipSetDevice(caller_.device) != success) return;
  while (!pieces_.empty()) remove_last();
  call().hipMemAddressFree(begin_, reserved_);
}

void VirtualRange::add(std::size_t bytes) {
  const AllocationProperties wanted = properties();
  AllocationHandle handle = nullptr;
  caller_.check(call().hipMemCreate(&handle, bytes, &wanted, 0), "hipMemCreate", byte_count(bytes));
  place(handle, bytes, devices_, {});
  try {
    clear_(begin_ + mapped_ - bytes, bytes);
  } catch (...) {
    remove_last();
    throw;
  }
}

void VirtualRange::add_imported(int file, std::size_t bytes) {
  AllocationHandle handle = nullptr;
  // The file's number itself, as a pointer.
  void* const number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(file));  // NOLINT(performance-no-int-to-ptr)
  caller_.check(call().hipMemImportFromShareableHandle(&handle, number, handle_type_file),
                "hipMemImportFromShareableHandle", byte_count(bytes));
  place(handle, bytes, {caller_.device},
        ", of another process; the GPUs of one world must be linked (NVLink, xGMI, or PCIe with peer access)");
}

int VirtualRange::export_piece(std::size_t number) {
  const Piece& piece = pieces_.at(number);
  int file = -1;
  caller_.check(call().hipMemExportToShareableHandle(&file, piece.handle, handle_type_file, 0),
                "hipMemExportToShareableHandle", byte_count(piece.bytes));
  return file;
}

void VirtualRange::remove_last() noexcept {
  const Piece last = pieces_.back();
  pieces_.pop_back();
  mapped_ -= last.bytes;
  call().hipMemUnmap(begin_ + mapped_, last.bytes);
  call().hipMemRelease(last.handle);
}

AllocationProperties VirtualRange::properties() const {
  AllocationProperties wanted{};
  wanted.type = caller_.api->shareable_memory;
  wanted.handle_types = exported_ ? handle_type_file : 0;
  wanted.location = {location_device, caller_.device};
  return wanted;
}

/// Takes the handle, and gives it back if that fails.
void VirtualRange::place(AllocationHandle handle, std::size_t bytes, const std::vector<int>& devices,
                         const std::string& whose) {
  char* const memory = begin_ + mapped_;
  bool is_mapped = false;
  try {
    pieces_.reserve(pieces_.size() + 1);
    caller_.check(call().hipMemMap(memory, bytes, 0, handle, 0), "hipMemMap", byte_count(bytes));
    is_mapped = true;
    char* const opened = caller_.api->access_from_begin ? begin_ : memory;
    const auto length = static_cast<std::size_t>(memory + bytes - opened);
    for (const int device : devices) {
      const AccessDescription access{{location_device, device}, access_read_write};
      caller_.check(call().hipMemSetAccess(opened, length, &access, 1), "hipMemSetAccess",
                    byte_count(bytes) + ", from device " + std::to_string(device) + whose);
    }
  } catch (...) {
    if (is_mapped) call().hipMemUnmap(memory, bytes);
    call().hipMemRelease(handle);
    throw;
  }
  pieces_.push_back({handle, bytes});
  mapped_ += bytes;
}

}  // namespace iris::hip
