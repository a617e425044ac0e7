#pragma once

#include <cstddef>
#include <functional>
#include <map>
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

  /// What every rank must be told of this one, which has so many files to hand over.
  std::string offer(std::size_t files) const;

  /// What is given by another rank, in its order. Closed unless it is kept, so that few files are open at a time.
  using Take = std::function<void(int peer, std::vector<Descriptor> files)>;
  /// By the offers of all: sends `own` to the others, and takes what each of those gives, in whichever order it comes.
  /// Throws if nothing comes for 5 s, or `absence` says that a rank, as messages name it, is gone.
  void complete(std::span<const std::string> offers, std::span<const Descriptor> own,
                const std::function<std::string(int rank)>& absence, const Take& take);

 private:
  /// What a rank gives, and has given so far.
  struct Given {
    std::size_t count = 0;
    std::vector<Descriptor> files = {};
  };
  using Missing = std::map<int, Given>;  ///< of the ranks that have not given all

  [[noreturn]] void fail_to_reach(int peer, const std::string& why) const;
  Descriptor connect(const std::string& offer, int peer) const;
  void send(const std::string& offer, int peer, std::span<const Descriptor> own,
            const std::function<void()>& make_room) const;
  bool receive_one(Missing& missing, const Take& take) const;

  std::string name_of(int rank) const;

  int rank_;
  std::vector<int> ranks_;
  Descriptor listener_;
  std::string secret_;
};

}  // namespace iris
