#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "generator/manifest/descriptor.hpp"
#include "iris/device.hpp"
#include "runtime/host/engine.hpp"

namespace iris::host {

/// Addresses of this process with pages in them: its own, or where other processes map them, too, a memory file for
/// each piece.
class PageRange final : public MemoryRange {
 public:
  PageRange(std::shared_ptr<Engine> engine, int rank, const RangeOptions& options);
  ~PageRange() override;

  char* begin() const override { return begin_; }
  std::size_t unit() const override { return unit_; }
  void add(std::size_t bytes) override;
  void add_imported(int file, std::size_t bytes) override;
  int export_piece(std::size_t number) override;
  void remove_last() noexcept override;

 private:
  struct Piece {
    std::size_t bytes;
    Descriptor file;  ///< of what other processes may ask for
  };

  void place(std::size_t bytes, int flags, int file, Descriptor kept);
  [[noreturn]] void fail(const std::string& what) const;

  std::shared_ptr<Engine> engine_;
  int rank_;
  bool among_processes_;
  std::size_t unit_;
  std::size_t reserved_;
  char* begin_ = nullptr;
  std::size_t mapped_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace iris::host
