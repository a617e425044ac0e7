#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "generator/manifest/descriptor.hpp"
#include "iris/device.hpp"
#include "iris/world.hpp"
#include "runtime/world/collectives.hpp"

namespace iris {

/// How many bytes of a rank's heap are mapped from the start, and how many there may be.
struct HeapSizes {
  std::size_t first = 0;
  std::size_t limit = 0;
  std::string refusal = {};  ///< why the device lets no heap grow; empty if it does
  bool operator==(const HeapSizes&) const = default;
};

/// What a World asks for, as far as the device goes along.
HeapSizes heap_sizes(const WorldOptions& options, const MemoryGrowth& growth);

/// The memory under one rank's heap and, where ranks are processes, under those of the others as this rank addresses
/// them. Heaps grow by pieces, each by its own, and lose them from the end: so what a rank has mapped of another's is
/// told by the last of these pieces, and who was not there when a heap grew maps it when a group needs it.
class HeapMemory {
 public:
  /// Of ranks that are threads: those on `devices` address it.
  HeapMemory(Device& device, const HeapSizes& sizes, int rank, int world, std::vector<int> devices);
  /// Of ranks that are processes.
  HeapMemory(Device& device, const HeapSizes& sizes, int rank, int world);

  const HeapSizes& sizes() const { return sizes_; }
  /// Of this rank's heap, no more than may be used of it.
  std::size_t mapped() const;
  /// Of a rank's heap as addressed from here; among threads of this one's own.
  char* begin_of(int rank) const;

  /// Maps what is there from the start, of this rank's own heap.
  void map_first();

  /// What the others must know before cover().
  std::string status() const;
  /// Sees to it that the first `end` bytes are mapped, of the heap of each of the members and by each of them, who all
  /// call it with the status() of all, in their order. Does nothing if all of it is there; else it is
  /// collective. Throws on every rank alike, in words, and leaves everything as it was.
  void cover(Collectives& members, const std::string& call, std::size_t end, std::span<const std::string> statuses);

  /// Gives back what is behind the first `used` bytes and not there from the start, in whole pieces. Collective over
  /// all ranks, who use none of it any more. The bytes that this rank's heap has lost.
  std::size_t trim(Collectives& members, const std::string& call, std::size_t used);

 private:
  struct Piece {
    std::uint64_t serial;  ///< from 1 on, of one rank's; never used again
    std::size_t bytes;
  };
  struct MappedHeap {
    std::unique_ptr<MemoryRange> range;  ///< null: not mapped from here
    std::vector<Piece> pieces;
    std::size_t bytes() const;
    void import_from(std::size_t number, std::span<const Descriptor> files, const std::vector<Piece>& all);
    void remove_last() noexcept;
  };
  /// What a rank says in status().
  struct Status {
    std::vector<Piece> pieces;        ///< of its own heap
    std::vector<std::uint64_t> seen;  ///< the last piece that it has of each rank's; 0: none
  };
  class Undo;

  static Status parse(const std::string& status);
  static std::size_t pieces_seen(const std::vector<Piece>& pieces, std::uint64_t last);
  static std::size_t pieces_under(const std::vector<Piece>& pieces, std::size_t end);

  MappedHeap& own() { return heaps_[static_cast<std::size_t>(rank_)]; }
  const MappedHeap& own() const { return heaps_[static_cast<std::size_t>(rank_)]; }
  std::size_t round_up(std::size_t bytes) const;
  void add_piece(std::size_t bytes);
  void grow(std::size_t end, std::span<const Status> known);
  void drop_stale(int rank, const std::vector<Piece>& pieces) noexcept;

  Device& device_;
  HeapSizes sizes_;
  int rank_;
  std::uint64_t last_serial_ = 0;
  std::vector<MappedHeap> heaps_;  ///< by rank of the world
};

}  // namespace iris
