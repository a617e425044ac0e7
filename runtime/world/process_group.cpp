#include "runtime/world/process_group.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "runtime/world/packing.hpp"
#include "runtime/world/processes/descriptors.hpp"

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
  return share_among_processes(call, bytes, rank() == 0,
                               [&](const Descriptor& own) { return std::move(hand_over(call, own).front()); });
}

std::vector<Descriptor> ProcessGroup::hand_over(const CollectiveCall& call, const Descriptor& own) {
  DescriptorExchange exchange(rank(), ranks_);
  const std::vector<std::string> offers = all_gather(call, exchange.offer(own.get() >= 0));
  return exchange.complete(offers, own, [this](int peer) { return world_.absence(peer); });
}

std::shared_ptr<void> share_among_processes(const CollectiveCall& call, std::size_t bytes, bool first,
                                            const std::function<Descriptor(const Descriptor& own)>& hand_over) {
  Descriptor own(-1);
  if (first) {
    own = Descriptor(::memfd_create("irisgen shared", MFD_CLOEXEC));
    if (own.get() < 0 || ::ftruncate(own.get(), static_cast<off_t>(bytes)) != 0) {
      throw std::runtime_error(call.call + ": the first rank cannot make memory to share: " + std::strerror(errno));
    }
  }
  const Descriptor shared = hand_over(own);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared.get(), 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error(call.call +
                             ": memory that the first rank shares cannot be mapped: " + std::strerror(errno));
  }
  return {memory, [bytes](void* mapped) { ::munmap(mapped, bytes); }};
}

}  // namespace iris
