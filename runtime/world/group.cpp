#include "runtime/world/group.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "iris/device/abi.hpp"
#include "iris/world.hpp"
#include "runtime/world/packing.hpp"

namespace iris {

namespace {

static_assert(device::max_world <= 32, "a group's members are bits of 32");

std::size_t length_of(const std::vector<FreeBlock>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0},
                         [](std::size_t sum, const FreeBlock& block) { return sum + block.length; });
}

}  // namespace

Group::State::State(Context::State& of_rank, int number, std::vector<int> of_ranks,
                    std::unique_ptr<Collectives> with_others)
    : context(of_rank),
      ranks(std::move(of_ranks)),
      rank(static_cast<int>(std::ranges::find(ranks, of_rank.rank) - ranks.begin())),
      collectives(std::move(with_others)),
      suffix(number == 0 ? "" : " in " + name_group(ranks)),
      number_(number) {
  for (const int member : ranks) {
    bases.push_back(context.bases[static_cast<std::size_t>(member)]);
    members_ |= 1U << static_cast<unsigned>(member);
  }
}

void* Group::State::allocate(std::size_t bytes, const std::string& call, Owner::Kind kind) {
  Heap& heap = context.heap;
  const CollectiveCall mine = {.call = call, .state = describe_holdings(), .digest = heap.holdings(number_).digest};
  std::vector<std::vector<FreeBlock>> heaps;
  std::vector<std::string> mapped;
  for (const std::string& said :
       collectives->all_gather(mine, pack({pack_values(heap.free_blocks(number_)), context.memory.status()}))) {
    std::vector<std::string> texts = unpack(said, 2);
    heaps.push_back(unpack_values<FreeBlock>(texts[0]));
    mapped.push_back(std::move(texts[1]));
  }
  heap.release(number_);  // what this rank has freed, all have
  const auto offset = first_fit(common_blocks(heaps), bytes);
  if (!offset.has_value()) throw std::runtime_error(describe_full(call, heaps));
  context.memory.cover(*collectives, call, *offset + std::max<std::size_t>(bytes, 1), mapped);
  heap.allocate_at(*offset, bytes, owner(kind));
  return bases[static_cast<std::size_t>(rank)] + *offset;
}

void Group::State::free(void* memory, Owner::Kind kind) {
  if (memory == nullptr) return;
  const char* base = bases[static_cast<std::size_t>(rank)];
  const bool freed = context.on_heap(memory, 1) &&
                     context.heap.free(static_cast<std::size_t>(static_cast<char*>(memory) - base), owner(kind));
  if (!freed) {
    throw std::runtime_error("rank " + std::to_string(context.rank) + " frees memory that allocate()" + suffix +
                             " did not return, or that is free already");
  }
}

void Group::State::barrier(const std::string& call, const std::function<void()>& before) {
  std::exception_ptr failure;
  try {
    before();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::string digest = std::to_string(context.heap.holdings(number_).digest);
  std::vector<std::string> digests;
  try {
    digests = collectives->all_gather_or_fail({.call = call, .state = {}}, failure ? words_of(failure) : "", digest);
  } catch (...) {
    if (failure) std::rethrow_exception(failure);
    throw;
  }
  const bool have_freed_the_same = std::ranges::count(digests, digest) == std::ssize(digests);
  if (have_freed_the_same) context.heap.release(number_);
}

void Group::State::fail_alike(const std::string& call, const std::function<void()>& step) {
  collectives->all_gather_or_fail({.call = call, .state = {}}, words_of_attempt(step));
}

bool Group::State::is_allocated(const void* memory, std::size_t bytes) const {
  return context.is_allocated(memory, bytes, members_);
}

void Group::State::adopt(void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const auto heap_begin = reinterpret_cast<std::uintptr_t>(bases[static_cast<std::size_t>(rank)]);
  const bool apart = begin + bytes <= heap_begin || heap_begin + context.heap.size() <= begin;
  context.adopted.adopt(
      *this, memory, bytes,
      apart || memory == nullptr ? "" : "the memory lies on the symmetric heap, and so is symmetric already");
}

void Group::State::release_adopted(void* memory) {
  context.adopted.release(*this, memory, words_of_attempt([&] { context.finish(); }));
}

char* Group::State::on_rank(const char* memory, int peer) const {
  const auto [adoption, offset] = context.place_of(memory);
  const auto world_rank = static_cast<std::size_t>(ranks[static_cast<std::size_t>(peer)]);
  if (adoption == nullptr) return bases[static_cast<std::size_t>(peer)] + offset;
  char* const base = adoption->bases[world_rank];
  return base == nullptr ? nullptr : base + offset;
}

std::string Group::State::describe_holdings() const {
  const Holdings holdings = context.heap.holdings(number_);
  return "holds " + std::to_string(holdings.allocations) + " allocations of " + std::to_string(holdings.bytes) +
         " bytes together";
}

/// Where members' heaps differ, who has how much.
std::string Group::State::describe_full(const std::string& call,
                                        const std::vector<std::vector<FreeBlock>>& heaps) const {
  const std::vector<FreeBlock> common = common_blocks(heaps);
  const std::size_t largest = common.empty() ? 0 : std::ranges::max(common, {}, &FreeBlock::length).length;
  const bool differ = std::ranges::count(heaps, heaps.front()) != std::ssize(heaps);
  const HeapSizes& sizes = context.memory.sizes();
  const std::string growth = sizes.limit > sizes.first ? ", which begins with " + std::to_string(sizes.first) +
                                                             " bytes and grows to " + std::to_string(sizes.limit)
                                                       : "";
  std::string text = call + " does not fit on the symmetric heap" + growth + ": of " +
                     std::to_string(context.heap.size()) + " bytes on each rank, " + std::to_string(length_of(common)) +
                     " are free" + (differ ? " at the same offsets of all members, " : ", ") + std::to_string(largest) +
                     " of them in one block";
  std::string each;
  for (std::size_t i = 0; differ && i < heaps.size(); ++i) {
    each += (each.empty() ? " (free on rank " : ", on rank ") + std::to_string(ranks[i]) + ": " +
            std::to_string(length_of(heaps[i]));
  }
  text += each.empty() ? "" : each + ")";
  if (const std::size_t freed = context.heap.unreleased_bytes(); freed > 0) {
    text += "; " + std::to_string(freed) + " more that rank " + std::to_string(context.rank) +
            " has freed are reused after a barrier() of the groups that had allocated them";
  }
  if (sizes.refusal.empty()) return text + "; raise WorldOptions::heap_limit or free something";
  return text + "; raise WorldOptions::heap_bytes or free something, for the heap cannot grow: " + sizes.refusal;
}

int Group::rank() const {
  return state_->rank;
}

int Group::num_ranks() const {
  return static_cast<int>(state_->ranks.size());
}

std::span<const int> Group::ranks() const {
  return state_->ranks;
}

Device& Group::device() {
  return state_->context.device;
}

void* Group::allocate(std::size_t bytes) {
  return state_->allocate(bytes, state_->call("allocate(" + std::to_string(bytes) + " bytes)"), Owner::Kind::user);
}

void Group::free(void* memory) {
  state_->free(memory, Owner::Kind::user);
}

void Group::as_symmetric(void* memory, std::size_t bytes) {
  state_->adopt(memory, bytes);
}

void Group::release_symmetric(void* memory) {
  state_->release_adopted(memory);
}

bool Group::is_symmetric(const void* memory, std::size_t bytes) const {
  return state_->context.on_heap(memory, bytes) || state_->context.adopted.find(memory, bytes) != nullptr;
}

void* Group::on_rank(void* memory, int rank) const {
  if (rank < 0 || rank >= num_ranks()) {
    throw std::runtime_error("there is no rank " + std::to_string(rank) + " in a " +
                             (state_->suffix.empty() ? "world" : "group") + " of " + std::to_string(num_ranks()));
  }
  if (!is_symmetric(memory, 0)) {
    throw std::runtime_error("rank " + std::to_string(state_->context.rank) +
                             " asks where memory lies on another rank that is not on the symmetric heap; take it from "
                             "allocate(), or have as_symmetric() adopt it");
  }
  char* const place = state_->on_rank(static_cast<const char*>(memory), rank);
  if (place != nullptr) return place;
  throw std::runtime_error("rank " + std::to_string(state_->context.rank) + " asks where memory lies on rank " +
                           std::to_string(ranks()[static_cast<std::size_t>(rank)]) +
                           ", which has not adopted it; adopt it with a group that has both");
}

std::span<char* const> Group::heap_bases() const {
  return state_->bases;
}

void Group::synchronize(Stream stream) {
  state_->context.synchronize(stream);
}

void Group::barrier(Stream stream) {
  state_->barrier(state_->call("barrier()"), [&] { state_->context.synchronize(stream); });
}

}  // namespace iris
