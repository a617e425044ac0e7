#pragma once

#include <cstddef>

#include "generator/manifest/descriptor.hpp"

namespace iris::host {

/// Pages of this process that were its own, put behind a file at the same addresses and with the same content, so that
/// other processes can map them, too. At the end they are its own again, with what they then hold. Nobody else may use
/// them while the one or the other is done; a process that fork() makes meanwhile shares them.
class AdoptedPages {
 public:
  /// Throws std::runtime_error, with what a caller can do, for what is not whole pages of private memory that can be
  /// written.
  AdoptedPages(void* memory, std::size_t bytes);
  ~AdoptedPages();
  AdoptedPages(const AdoptedPages&) = delete;
  AdoptedPages& operator=(const AdoptedPages&) = delete;

  const Descriptor& file() const { return file_; }

 private:
  char* begin_;
  std::size_t bytes_;
  Descriptor file_;
};

}  // namespace iris::host
