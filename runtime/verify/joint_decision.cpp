#include "runtime/verify/joint_decision.hpp"

#include "runtime/world/group.hpp"
#include "runtime/world/packing.hpp"

namespace iris {

std::vector<std::string> JointDecision::gather(const std::string& own) const {
  std::vector<std::string> all;
  ranks_->run([&](Context& context) {
    all = context.state().collectives->all_gather({.call = "a decision on what to measure", .state = {}}, own);
  });
  return all;
}

std::string JointDecision::of_rank_0(const std::string& own) const {
  return ranks_ == nullptr ? own : gather(own).front();
}

std::vector<std::string> JointDecision::first_words(const std::vector<std::string>& own) const {
  if (ranks_ == nullptr) return own;
  std::vector<std::string> agreed(own.size());
  for (const std::string& of_rank : gather(pack(own))) {
    const std::vector<std::string> words = unpack(of_rank, own.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (agreed[i].empty()) agreed[i] = words[i];
    }
  }
  return agreed;
}

}  // namespace iris
