#include "runtime/world/context.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "runtime/system/fault.hpp"
#include "runtime/system/log.hpp"
#include "runtime/world/group.hpp"

namespace iris {

namespace {

/// A kernel may name a peer that there is not.
int world_rank(int rank, std::span<const int> ranks) {
  return rank >= 0 && rank < std::ssize(ranks) ? ranks[static_cast<std::size_t>(rank)] : rank;
}

/// Takes note of a fault that the record's operation has written on this rank of the world. True if there is one that
/// has not been noted before.
bool note_fault(LaunchRecord& record, int rank) {
  if (!record.failure.empty()) return false;
  const bool waited = __atomic_load_n(&record.fault->complete, __ATOMIC_ACQUIRE) != 0;
  if (__atomic_load_n(&record.fault->overlapped, __ATOMIC_RELAXED) != 0) {
    record.failure = describe_overlap(record.operation, rank);
  } else if (waited) {
    device::Fault fault = *record.fault;
    fault.rank = world_rank(fault.rank, record.ranks);
    fault.peer = world_rank(fault.peer, record.ranks);
    record.failure = describe(fault, record.operation, record.timeout_ns);
  } else {
    return false;
  }
  log(LogLevel::error, [&] { return record.failure; });
  return true;
}

}  // namespace

Context::State::State(int of_rank, Device& of_device, const std::vector<char*>& heap_bases, HeapMemory& heap_memory,
                      std::unique_ptr<WorldCollectives> with_others, int ranks_on_this_device)
    : rank(of_rank),
      device(of_device),
      bases(heap_bases),
      memory(heap_memory),
      heap(heap_memory.sizes().limit),
      ranks_on_device(ranks_on_this_device),
      collectives(*with_others) {
  std::vector<int> ranks(bases.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  all = std::make_unique<Group::State>(*this, 0, std::move(ranks), std::move(with_others));
}

Context::State::~State() = default;

bool Context::State::on_heap(const void* place, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(bases[static_cast<std::size_t>(rank)]);
  const auto first = reinterpret_cast<std::uintptr_t>(place);
  const std::size_t size = std::min(memory.mapped(), heap.size());
  return first >= begin && first - begin <= size && bytes <= size - (first - begin) &&
         (bytes > 0 || first - begin < size);
}

bool Context::State::is_allocated(const void* place, std::size_t bytes, std::uint32_t members) const {
  if (!on_heap(place, bytes)) {
    const Adoption* const adoption = adopted.find(place, bytes);
    return adoption != nullptr && (adoption->members & members) == members;
  }
  const char* base = bases[static_cast<std::size_t>(rank)];
  return heap.holds(static_cast<std::size_t>(static_cast<const char*>(place) - base), bytes, members);
}

Context::State::Place Context::State::place_of(const void* symmetric) const {
  const char* const place = static_cast<const char*>(symmetric);
  const Adoption* const adoption = on_heap(place, 0) ? nullptr : adopted.find(place, 0);
  const char* const base = adoption != nullptr ? adoption->begin : bases[static_cast<std::size_t>(rank)];
  return {adoption, static_cast<std::uint64_t>(place - base)};
}

void Context::State::synchronize(Stream stream) {
  if (deferred != nullptr) std::rethrow_exception(std::exchange(deferred, nullptr));
  wait(stream);
}

void Context::State::wait(Stream stream) {
  try {
    device.synchronize(stream);
  } catch (const std::exception& error) {
    log(LogLevel::error, [&] { return std::string(error.what()); });
    // The device does not say whose launch it was, so none that was under way can be trusted.
    for (LaunchRecord* record : records) {
      if (record->in_flight.has_value() && record->failure.empty()) record->failure = error.what();
      record->in_flight.reset();
    }
    filling.erase(stream);
    throw;
  }
  filling.erase(stream);
  const LaunchRecord* failed = nullptr;
  for (LaunchRecord* record : records) {
    if (record->in_flight == stream) record->in_flight.reset();
    if (note_fault(*record, rank) && failed == nullptr) failed = record;
  }
  if (failed != nullptr) throw std::runtime_error(failed->failure);
}

std::exception_ptr Context::State::wait_for_all() {
  std::set<Stream> streams = filling;
  streams.insert(nullptr);
  for (const LaunchRecord* record : records) {
    if (record->in_flight.has_value()) streams.insert(*record->in_flight);
  }
  std::exception_ptr first;
  for (const Stream stream : streams) {
    try {
      wait(stream);
    } catch (const std::exception&) {
      if (first == nullptr) first = std::current_exception();
    }
  }
  return first;
}

void Context::State::finish() {
  const std::exception_ptr failed = wait_for_all();
  const std::exception_ptr before = std::exchange(deferred, nullptr);
  if (before != nullptr) std::rethrow_exception(before);
  if (failed != nullptr) std::rethrow_exception(failed);
}

namespace {

/// Throws unless these ranks can be a group that this one makes.
void check_members(const std::vector<int>& ranks, const Context::State& self) {
  const std::string call = "rank " + std::to_string(self.rank) + " cannot make " + name_group(ranks) + ": ";
  const auto world = static_cast<int>(self.bases.size());
  for (const int rank : ranks) {
    if (rank < 0 || rank >= world) {
      throw std::runtime_error(call + "there is no rank " + std::to_string(rank) + " in a world of " +
                               std::to_string(world));
    }
    if (std::ranges::count(ranks, rank) > 1) {
      throw std::runtime_error(call + "rank " + std::to_string(rank) + " is given twice");
    }
  }
  if (std::ranges::find(ranks, self.rank) == ranks.end()) {
    throw std::runtime_error(call + "it is not among them, and only they make it");
  }
}

}  // namespace

// Whoever keeps a copy of this group keeps the world.
Context::Context(State& state)
    : Group(std::shared_ptr<Group::State>(state.world.lock(), state.all.get())), state_of_rank_(state) {}

Group Context::group(const std::vector<int>& ranks) {
  State& self = state_of_rank_;
  check_members(ranks, self);
  std::vector<int> ascending = ranks;
  std::ranges::sort(ascending);
  const int next = static_cast<int>(self.groups.size()) + 1;  // 0 is that of all
  const int number = self.groups.emplace(std::move(ascending), next).first->second;
  auto made = std::make_shared<Group::State>(self, number, ranks, nullptr);
  made->world = self.world.lock();
  made->collectives = self.collectives.among(ranks);  // last: once it has succeeded, it has on all of them
  return Group(std::move(made));
}

std::size_t Context::trim() {
  State& self = state_of_rank_;
  self.all->barrier("trim()", [&] { self.finish(); });
  return self.memory.trim(self.collectives, "trim()", self.heap.end_of_use());
}

}  // namespace iris
