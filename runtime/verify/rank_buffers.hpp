#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "iris/manifest.hpp"
#include "iris/world.hpp"

namespace iris {

/// One rank's buffers for one launch, on the symmetric heap, each between guards that tell who writes beyond its ends.
/// In place they are one buffer, as long as the longest, in which the others lie as the manifest allows.
class RankBuffers {
 public:
  /// Collective.
  RankBuffers(Context& context, const Manifest& manifest, const Extents& extents, bool in_place);

  /// Of the heap, for one launch.
  static std::size_t heap_bytes(const Manifest& manifest, const Extents& extents);

  std::vector<void*> pointers() const;
  /// Bytes from the begin of one to that of another; in place.
  std::ptrdiff_t distance(std::size_t from, std::size_t to) const { return buffers_[to].begin - buffers_[from].begin; }

  // `argument` is a position in the manifest.
  void write(Device& device, std::size_t argument, std::span<const std::byte> content) const;
  std::vector<std::byte> read(Device& device, std::size_t argument) const;
  /// Fills the buffer, and what lies in it, with `value`, and renews the guards.
  void poison(Device& device, std::size_t argument, unsigned char value) const;
  /// Whether the bytes on both sides of the buffer are as poison() left them.
  bool guards_intact(Device& device, std::size_t argument) const;

 private:
  unsigned char guard_of(std::size_t argument) const;

  struct Buffer {
    char* begin;
    std::size_t bytes;
    bool lies_in_another;  // which has the guards
  };
  int rank_;
  std::vector<Buffer> buffers_;
};

}  // namespace iris
