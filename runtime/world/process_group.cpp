#include "runtime/world/process_group.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/world/packing.hpp"
#include "runtime/world/process_collectives.hpp"
#include "runtime/world/process_sharing.hpp"

namespace iris {

ProcessGroup::ProcessGroup(std::shared_ptr<Bootstrap> bootstrap, std::vector<int> ranks, std::vector<int> ascending,
                           const ProcessCollectives& world)
    : bootstrap_(std::move(bootstrap)),
      ranks_(std::move(ranks)),
      ascending_(std::move(ascending)),
      world_(world),
      rank_(static_cast<int>(std::ranges::find(ranks_, world.rank()) - ranks_.begin())) {}

std::vector<std::string> ProcessGroup::all_gather(CollectiveCall call, std::string content) {
  const std::string part = pack({call.call, call.state, std::to_string(call.digest), std::move(content)});
  std::vector<CollectiveCall> calls;
  std::vector<std::string> contents;
  for (const std::string& bytes : bootstrap_->all_gather(part, call.call)) {
    std::vector<std::string> texts = unpack(bytes, 4);
    calls.push_back({std::move(texts[0]), std::move(texts[1]), std::stoull(texts[2])});
    contents.push_back(std::move(texts[3]));
  }
  const std::string difference = describe_difference(calls, ascending_);
  if (!difference.empty()) throw std::runtime_error(difference);
  return in_order_of(ranks_, std::move(contents));
}

std::shared_ptr<void> ProcessGroup::share_memory(CollectiveCall call, std::size_t bytes) {
  return share_among_processes(*this, call, bytes);
}

void ProcessGroup::hand_over(const CollectiveCall& call, const Files& files, const TakeFiles& take) {
  hand_over_among_processes(*this, call, files, [this](int peer) { return world_.absence(peer); }, take);
}

}  // namespace iris
