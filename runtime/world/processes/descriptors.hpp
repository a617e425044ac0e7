#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "generator/manifest/descriptor.hpp"

namespace iris {

/// Hands open files over to the other processes of a world: each rank offers a socket by name and a secret for it, the
/// offers are brought to all by whatever means there are, and each sends its own to all.
class DescriptorExchange {
 public:
  /// `ranks`: those that take part, as messages name them; offers are in their order. This one is number `rank`.
  DescriptorExchange(int rank, std::vector<int> ranks);

  /// What every rank must be told of this one. `gives`: it has a descriptor to hand over.
  std::string offer(bool gives) const;

  /// Those of all ranks, by the offers of all; negative where a rank gives none. One's own is a copy. Throws if one
  /// does not come within 5 s, or `absence` says that its rank, as messages name it, is gone.
  std::vector<Descriptor> complete(std::span<const std::string> offers, const Descriptor& own,
                                   const std::function<std::string(int rank)>& absence);

 private:
  void send(const std::string& offer, int peer, const Descriptor& own) const;
  void receive_one(std::vector<int>& missing, std::vector<Descriptor>& received) const;

  std::string name_of(int rank) const;

  int rank_;
  std::vector<int> ranks_;
  Descriptor listener_;
  std::string secret_;
};

}  // namespace iris
