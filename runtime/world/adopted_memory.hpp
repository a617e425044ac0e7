#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "iris/device.hpp"
#include "iris/group.hpp"

namespace iris {

/// A range of memory that ranks have adopted, each its own.
struct Adoption {
  std::uint64_t number;      ///< from 1 on; the same on every member, and another than any other of theirs
  std::uint32_t members;     ///< that adopted it, a bit for each rank of the world
  char* begin;               ///< of this rank's
  std::size_t bytes;         ///< of each member's
  std::uint64_t allocation;  ///< in which it begins, as Device::allocation_of says
  std::vector<char*> bases;  ///< where each rank's begins, as addressable from this one; null for those of no member
};

/// What one rank has adopted together with others: its book of ranges that lie wherever somebody else has put them,
/// with a table of the peers' addresses for each.
class AdoptedMemory {
 public:
  /// Collective over the group. `refusal` says why this rank's own memory cannot be adopted; empty if nothing but what
  /// is found out here is against it. Throws on every member alike, and leaves all as it was.
  void adopt(const Group::State& group, void* memory, std::size_t bytes, std::string refusal);

  /// Collective over the group that adopted it: when it returns, no rank addresses it any more. `failure` is that of
  /// this rank's launches, in words, for which every member throws alike and keeps the memory adopted. Throws as well
  /// if `memory` is not where something begins that this group has adopted.
  void release(const Group::State& group, void* memory, const std::string& failure);

  /// The one that [memory, memory + bytes) lies in, until the next change; null if there is none. An empty range lies
  /// where its begin does.
  const Adoption* find(const void* memory, std::size_t bytes) const;
  bool empty() const { return adoptions_.empty(); }

 private:
  std::string describe_refusal(const Device& device, const void* memory, std::size_t bytes) const;

  std::vector<Adoption> adoptions_;  ///< by begin
  std::uint64_t last_number_ = 0;
};

}  // namespace iris
