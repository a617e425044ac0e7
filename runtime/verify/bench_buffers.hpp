#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "iris/world.hpp"
#include "irisgen/plan.hpp"

namespace iris {

/// One rank's buffers of a plan, at `extents`, on the symmetric heap, with random data in each: what matters to the
/// time is that they are no zeros. Made and ended by all ranks together.
class BenchBuffers {
 public:
  BenchBuffers(Context& context, const irisgen::Plan& plan, const Extents& extents, std::uint64_t seed);
  ~BenchBuffers();
  BenchBuffers(const BenchBuffers&) = delete;
  BenchBuffers& operator=(const BenchBuffers&) = delete;

  /// In the order of the plan's arguments, and how long each is.
  std::span<void* const> pointers() const { return pointers_; }
  std::span<const std::size_t> bytes() const { return bytes_; }

 private:
  Context& context_;
  std::vector<void*> pointers_;
  std::vector<std::size_t> bytes_;
};

/// How many BenchBuffers launches take in turn.
struct BufferTurns {
  int sets = 1;
  std::size_t bytes = 0;        ///< of each set
  std::size_t flush_bytes = 0;  ///< to be copied before a batch, whose sets would all fit in a cache; 0: nothing
  /// On each rank's heap.
  std::size_t heap_bytes() const;
};

/// All launches take the same set, or, if they are to be `cold`, one that no cache holds any more, of as many sets as
/// that takes: what the launches between two of a set touch is twice the last cache's size.
BufferTurns buffer_turns(const irisgen::Plan& plan, const Extents& extents, bool cold, int launches);

/// Those sets. Made and ended by all ranks together.
class BenchBufferSets {
 public:
  BenchBufferSets(Context& context, const irisgen::Plan& plan, const Extents& extents, const BufferTurns& turns,
                  std::uint64_t seed);
  ~BenchBufferSets();
  BenchBufferSets(const BenchBufferSets&) = delete;
  BenchBufferSets& operator=(const BenchBufferSets&) = delete;

  /// Those of a launch by its number in a batch. The one before it has a set of its own where there are several, and
  /// empties the caches first, in the default stream, where that is needed.
  std::span<void* const> of_launch(int number) const;

 private:
  Context& context_;
  std::size_t flush_bytes_;
  std::vector<std::unique_ptr<BenchBuffers>> sets_;
  void* flushed_ = nullptr;
};

}  // namespace iris
