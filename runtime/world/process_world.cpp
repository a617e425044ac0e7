#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/system/log.hpp"
#include "runtime/world/packing.hpp"
#include "runtime/world/process_collectives.hpp"
#include "runtime/world/processes/launcher.hpp"
#include "runtime/world/world_state.hpp"

namespace iris {

namespace {

/// This process is one rank, and the others are processes of the same host.
struct ProcessWorld final : World::State {
  ProcessWorld(const WorldOptions& options, const std::shared_ptr<Bootstrap>& bootstrap);

  void run(const std::function<void(Context&)>& body) override;
  Context::State& enter() override;
  void depart() override { collectives->depart(); }

  std::vector<std::string> introduce(const CollectiveCall& call, const std::string& about);
  void open_device(const WorldOptions& options, const Bootstrap& bootstrap);
  HeapSizes agree_on_sizes(const WorldOptions& options, const CollectiveCall& call);
  void share_heap(const HeapSizes& sizes, const CollectiveCall& call);
  void prime_copies(std::size_t heap_bytes);

  ProcessCollectives* collectives = nullptr;  // of the rank
  std::unique_ptr<ProcessCollectives> before_rank;
  DeviceGroup group;
  int ranks_on_device = 1;
  std::unique_ptr<HeapMemory> heap;
  std::vector<char*> bases;
};

ProcessWorld::ProcessWorld(const WorldOptions& options, const std::shared_ptr<Bootstrap>& bootstrap)
    : collectives(new ProcessCollectives(bootstrap)), before_rank(collectives) {
  target = options.target;
  size = bootstrap->size();
  const std::string limit = options.heap_limit != 0 ? ", at most " + std::to_string(options.heap_limit) : "";
  const CollectiveCall call{
      .call = "World::join(" + target + ", heap of " + std::to_string(options.heap_bytes) + " bytes" + limit + ")",
      .state = {}};
  try {
    check_world_size(size);
    open_device(options, *bootstrap);
    const std::vector<std::string> addresses = introduce(call, group.devices.front()->address());
    ranks_on_device =
        static_cast<int>(std::ranges::count(addresses, addresses[static_cast<std::size_t>(bootstrap->rank())]));
    share_heap(agree_on_sizes(options, call), call);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    heap.reset();
    try {
      collectives->leave(error);       // the others are told
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): what came first counts
    }
    throw;
  }
  ranks.push_back(std::make_unique<Context::State>(bootstrap->rank(), *group.devices.front(), bases, *heap,
                                                   std::move(before_rank), ranks_on_device));
  log(LogLevel::info, [&] {
    const Device& device = *group.devices.front();
    return describe_world(*this, heap->sizes()) + " as processes, shared by " + device.sharing() +
           "; this is process " + std::to_string(::getpid()) + " on " + describe_device(device) +
           (ranks_on_device > 1 ? ", which " + std::to_string(ranks_on_device) + " ranks share" : "");
  });
}

void ProcessWorld::open_device(const WorldOptions& options, const Bootstrap& bootstrap) {
  const int rank = bootstrap.rank();
  if (options.target == "host") {
    group = open_host_device({rank, size, [this](int peer) { return collectives->absence(peer); }}, options.seed,
                             options.locate);
    return;
  }
  try {
    group = open_hip_device(rank, bootstrap.local_rank());
  } catch (const std::exception& error) {
    throw std::runtime_error("a world on " + options.target + " needs GPUs: " + error.what());
  }
  check_target(*group.devices.front(), options.target);
}

/// What each rank says about its device. Throws if ranks are on several hosts.
std::vector<std::string> ProcessWorld::introduce(const CollectiveCall& call, const std::string& about) {
  std::vector<std::string> devices;
  std::vector<std::string> hosts;
  for (const std::string& said : collectives->all_gather(call, pack({host_name(), about}))) {
    std::vector<std::string> texts = unpack(said, 2);
    hosts.push_back(std::move(texts[0]));
    devices.push_back(std::move(texts[1]));
  }
  check_one_host(hosts);
  return devices;
}

/// What all ranks' devices can do: the least of it.
HeapSizes ProcessWorld::agree_on_sizes(const WorldOptions& options, const CollectiveCall& call) {
  HeapSizes sizes = heap_sizes(options, group.devices.front()->growth());
  for (const std::string& said : collectives->all_gather(call, pack({std::to_string(sizes.limit), sizes.refusal}))) {
    const std::vector<std::string> texts = unpack(said, 2);
    sizes.limit = std::min<std::size_t>(sizes.limit, std::stoull(texts[0]));
    if (sizes.refusal.empty()) sizes.refusal = texts[1];
  }
  return sizes;
}

void ProcessWorld::share_heap(const HeapSizes& sizes, const CollectiveCall& call) {
  Device& device = *group.devices.front();
  device.bind();
  heap = std::make_unique<HeapMemory>(device, sizes, collectives->rank(), size);
  const std::vector<std::string> nothing_yet = collectives->all_gather(call, heap->status());
  heap->cover(*collectives, call.call, std::max<std::size_t>(sizes.first, 1), nothing_yet);
  for (int rank = 0; rank < size; ++rank) bases.push_back(heap->begin_of(rank));
  if (target != "host") prime_copies(heap->mapped());
  collectives->barrier(call);
}

/// A driver sets up a way of copying at its first use, and may wait for the whole device to do so: now, not while
/// kernels wait for one another. Small copies and large ones may go different ways. All heaps are zeros as yet.
void ProcessWorld::prime_copies(std::size_t heap_bytes) {
  constexpr std::size_t large = std::size_t{1} << 20;
  const char* const own = bases[static_cast<std::size_t>(collectives->rank())];
  for (char* base : bases) {
    if (base == own) continue;
    for (const std::size_t bytes : {std::size_t{1}, large}) {
      group.devices.front()->copy(base, own, std::min(bytes, heap_bytes));
    }
  }
}

void ProcessWorld::run(const std::function<void(Context&)>& body) {
  collectives->begin();
  const std::exception_ptr error = run_rank(*ranks.front(), body);
  std::optional<ProcessCollectives::Failure> failure;
  try {
    failure = collectives->leave(error);
  } catch (const std::exception&) {
    if (error == nullptr) throw;
    failure = {collectives->rank(), words_of(error)};
  }
  if (failure.has_value()) {
    throw std::runtime_error("rank " + std::to_string(failure->rank) + ": " + failure->words);
  }
}

Context::State& ProcessWorld::enter() {
  collectives->begin();
  return *ranks.front();
}

}  // namespace

World World::join(const WorldOptions& options, std::shared_ptr<Bootstrap> bootstrap) {
  if (bootstrap == nullptr) bootstrap = connect_processes();
  const LogRank rank(bootstrap->rank(), bootstrap->size());
  return {Made(), std::make_shared<ProcessWorld>(options, bootstrap)};
}

}  // namespace iris
