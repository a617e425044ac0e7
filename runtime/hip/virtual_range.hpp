#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "iris/device.hpp"
#include "runtime/hip/caller.hpp"

namespace iris::hip {

/// Zeros new memory of the device.
using Clear = std::function<void(void* memory, std::size_t bytes)>;

/// Addresses with virtual memory in them. Pieces travel to other processes as files.
class VirtualRange final : public MemoryRange {
 public:
  /// `clear` must outlive this.
  VirtualRange(const Caller& caller, const RangeOptions& options, Clear clear);
  ~VirtualRange() override;

  char* begin() const override { return begin_; }
  std::size_t unit() const override { return unit_; }
  void add(std::size_t bytes) override;
  void add_imported(int file, std::size_t bytes) override;
  int export_piece(std::size_t number) override;
  void remove_last() noexcept override;

 private:
  struct Piece {
    AllocationHandle handle;
    std::size_t bytes;
  };

  AllocationProperties properties() const;
  void place(AllocationHandle handle, std::size_t bytes, const std::vector<int>& devices, const std::string& whose);

  const Functions& call() const { return caller_.api->call; }

  Caller caller_;
  bool exported_;
  std::vector<int> devices_;  ///< that address what is allocated here
  Clear clear_;
  std::size_t unit_ = 0;
  char* begin_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t mapped_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace iris::hip
