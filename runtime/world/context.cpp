#include "runtime/world/context.hpp"

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>

#include "runtime/system/fault.hpp"

namespace iris {

namespace {

std::string describe_holdings(const Heap& heap) {
  return "holds " + std::to_string(heap.allocations()) + " allocations of " + std::to_string(heap.allocated_bytes()) +
         " bytes together";
}

std::string describe_full(const Heap& heap, const std::string& call) {
  return call + " does not fit on the symmetric heap: of " + std::to_string(heap.size()) + " bytes on each rank, " +
         std::to_string(heap.free_bytes()) + " are free, " + std::to_string(heap.largest_free()) +
         " of them in one block; raise WorldOptions::heap_bytes or free something";
}

/// Takes note of a fault that the record's operation has written. True if there is one that has not been noted before.
bool note_fault(LaunchRecord& record) {
  if (!record.failure.empty() || __atomic_load_n(&record.fault->complete, __ATOMIC_ACQUIRE) == 0) return false;
  record.failure = describe(*record.fault, record.operation, record.timeout_ns);
  return true;
}

}  // namespace

void* Context::State::allocate(std::size_t bytes, const std::string& call, Owner owner) {
  collectives->barrier({.call = call, .state = describe_holdings(heap), .digest = heap.digest()});
  const auto offset = heap.allocate(bytes, owner);
  if (!offset.has_value()) throw std::runtime_error(describe_full(heap, call));
  return bases[static_cast<std::size_t>(rank)] + *offset;
}

void Context::State::free(void* memory, Owner owner) {
  if (memory == nullptr) return;
  const char* base = bases[static_cast<std::size_t>(rank)];
  const bool freed =
      on_heap(memory, 1) && heap.free(static_cast<std::size_t>(static_cast<char*>(memory) - base), owner);
  if (!freed) {
    throw std::runtime_error("rank " + std::to_string(rank) +
                             " frees memory that allocate() did not return, or that is free already");
  }
}

bool Context::State::on_heap(const void* memory, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(bases[static_cast<std::size_t>(rank)]);
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  return first >= begin && first - begin <= heap.size() && bytes <= heap.size() - (first - begin) &&
         (bytes > 0 || first - begin < heap.size());
}

bool Context::State::is_allocated(const void* memory, std::size_t bytes) const {
  if (!on_heap(memory, bytes)) return adopted.find(memory, bytes) != nullptr;
  const char* base = bases[static_cast<std::size_t>(rank)];
  return heap.holds(static_cast<std::size_t>(static_cast<const char*>(memory) - base), bytes);
}

void Context::State::adopt(void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const auto heap_begin = reinterpret_cast<std::uintptr_t>(bases[static_cast<std::size_t>(rank)]);
  const bool apart = begin + bytes <= heap_begin || heap_begin + heap.size() <= begin;
  adopted.adopt(*collectives, device, memory, bytes,
                apart || memory == nullptr ? "" : "the memory lies on the symmetric heap, and so is symmetric already");
}

void Context::State::release_adopted(void* memory) {
  finish();
  adopted.release(*collectives, device, memory);
}

Context::State::Place Context::State::place_of(const void* memory) const {
  const char* const place = static_cast<const char*>(memory);
  const Adoption* const adoption = on_heap(memory, 0) ? nullptr : adopted.find(memory, 0);
  const char* const base = adoption != nullptr ? adoption->begin : bases[static_cast<std::size_t>(rank)];
  return {adoption, static_cast<std::uint64_t>(place - base)};
}

char* Context::State::on_rank(char* memory, int peer) const {
  const auto [adoption, offset] = place_of(memory);
  return (adoption != nullptr ? adoption->bases : bases)[static_cast<std::size_t>(peer)] + offset;
}

void Context::State::synchronize(Stream stream) {
  if (deferred != nullptr) std::rethrow_exception(std::exchange(deferred, nullptr));
  try {
    device.synchronize(stream);
  } catch (const std::exception& error) {
    // The device does not say whose launch it was, so none that was under way can be trusted.
    for (LaunchRecord* record : records) {
      if (record->in_flight.has_value() && record->failure.empty()) record->failure = error.what();
      record->in_flight.reset();
    }
    throw;
  }
  const LaunchRecord* failed = nullptr;
  for (LaunchRecord* record : records) {
    if (record->in_flight == stream) record->in_flight.reset();
    if (note_fault(*record) && failed == nullptr) failed = record;
  }
  if (failed != nullptr) throw std::runtime_error(failed->failure);
}

void Context::State::barrier(const std::string& call) {
  collectives->barrier({.call = call, .state = {}});
}

void Context::State::finish() {
  synchronize(nullptr);
  for (const LaunchRecord* record : records) {
    if (record->in_flight.has_value()) synchronize(*record->in_flight);
  }
}

int Context::rank() const {
  return state_.rank;
}

int Context::num_ranks() const {
  return static_cast<int>(state_.bases.size());
}

Device& Context::device() {
  return state_.device;
}

void* Context::allocate(std::size_t bytes) {
  return state_.allocate(bytes, "allocate(" + std::to_string(bytes) + " bytes)", Owner::user);
}

void Context::free(void* memory) {
  state_.free(memory, Owner::user);
}

bool Context::is_symmetric(const void* memory, std::size_t bytes) const {
  return state_.on_heap(memory, bytes) || state_.adopted.find(memory, bytes) != nullptr;
}

void Context::as_symmetric(void* memory, std::size_t bytes) {
  state_.adopt(memory, bytes);
}

void Context::release_symmetric(void* memory) {
  state_.release_adopted(memory);
}

void* Context::on_rank(void* memory, int rank) const {
  if (rank < 0 || rank >= num_ranks()) {
    throw std::runtime_error("there is no rank " + std::to_string(rank) + " in a world of " +
                             std::to_string(num_ranks()));
  }
  if (!is_symmetric(memory, 0)) {
    throw std::runtime_error("rank " + std::to_string(state_.rank) +
                             " asks where memory lies on another rank that is not on the symmetric heap; take it from "
                             "allocate(), or have as_symmetric() adopt it");
  }
  return state_.on_rank(static_cast<char*>(memory), rank);
}

std::span<char* const> Context::heap_bases() const {
  return state_.bases;
}

void Context::synchronize(Stream stream) {
  state_.synchronize(stream);
}

void Context::barrier() {
  state_.synchronize(nullptr);
  state_.barrier("barrier()");
}

}  // namespace iris
