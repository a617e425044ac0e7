#include "runtime/world/rounds.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace iris {

namespace {

constexpr std::align_val_t cache_line{64};

std::shared_ptr<void> zeros(std::size_t bytes) {
  void* memory = ::operator new(bytes, cache_line);
  std::memset(memory, 0, bytes);
  return {memory, [](void* released) { ::operator delete(released, cache_line); }};
}

}  // namespace

Rounds::Rounds(int ranks, RankObserver* observer)
    : ranks_(ranks), observer_(observer), round_(new_round()), gone_(static_cast<std::size_t>(ranks)) {
  std::iota(gone_.begin(), gone_.end(), 0);  // nobody is there before begin()
}

void Rounds::begin() {
  const std::lock_guard lock(mutex_);
  gone_.clear();
  failures_.clear();
  round_ = new_round();
  for (int rank = 0; observer_ != nullptr && rank < ranks_; ++rank) observer_->resumed(rank);
}

std::vector<std::string> Rounds::all_gather(int rank, CollectiveCall call, std::string content) {
  return meet(rank, std::move(call), std::move(content))->contents;
}

std::shared_ptr<void> Rounds::share_memory(int rank, CollectiveCall call, std::size_t bytes) {
  return meet(rank, std::move(call), {}, rank == 0 ? zeros(bytes) : nullptr)->memory;
}

/// The round that it took part in, once that is over.
std::shared_ptr<Rounds::Round> Rounds::meet(int rank, CollectiveCall call, std::string content,
                                            std::shared_ptr<void> memory) {
  std::unique_lock lock(mutex_);
  if (!gone_.empty()) throw std::runtime_error(call.call + " cannot be done: " + describe_absence(gone_.front()));
  const std::shared_ptr<Round> round = round_;
  const std::string doing = "waits in " + call.call;
  round->calls[static_cast<std::size_t>(rank)] = std::move(call);
  round->contents[static_cast<std::size_t>(rank)] = std::move(content);
  if (memory != nullptr) round->memory = std::move(memory);
  std::vector<CollectiveCall> present;
  for (const auto& arrived : round->calls) {
    if (arrived.has_value()) present.push_back(*arrived);
  }
  if (present.size() == round->calls.size()) {
    conclude(describe_difference(present), rank);
  } else {
    if (observer_ != nullptr) observer_->parked(rank, doing);
    concluded_.wait(lock, [&] { return round->over; });
  }
  if (!round->verdict.empty()) throw std::runtime_error(round->verdict);
  return round;
}

void Rounds::leave(int rank, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  gone_.push_back(rank);
  if (error != nullptr) failures_.push_back({rank, std::move(error)});
  for (const auto& call : round_->calls) {
    if (!call.has_value()) continue;
    conclude(call->call + " cannot be done: " + describe_absence(rank), rank);
    break;
  }
  if (observer_ != nullptr) observer_->parked(rank, describe_absence(rank).substr(name_ranks({rank}).size() + 1));
}

std::optional<Rounds::Failure> Rounds::failure() const {
  const std::lock_guard lock(mutex_);
  if (failures_.empty()) return std::nullopt;
  const std::string words = words_of(failures_.front().error);
  const Failure* lowest = &failures_.front();
  for (const Failure& other : failures_) {
    if (other.rank < lowest->rank && words_of(other.error) == words) lowest = &other;
  }
  return *lowest;
}

std::shared_ptr<Rounds::Round> Rounds::new_round() const {
  auto round = std::make_shared<Round>();
  round->calls.resize(static_cast<std::size_t>(ranks_));
  round->contents.resize(static_cast<std::size_t>(ranks_));
  return round;
}

/// Lets the ranks that wait go on. They count as running from here, before the caller can cease to: there is no moment
/// at which all seem to wait.
void Rounds::conclude(std::string verdict, int caller) {
  const std::shared_ptr<Round> concluded = std::exchange(round_, new_round());
  concluded->verdict = std::move(verdict);
  concluded->over = true;
  for (int rank = 0; observer_ != nullptr && rank < ranks_; ++rank) {
    if (rank != caller && concluded->calls[static_cast<std::size_t>(rank)].has_value()) observer_->resumed(rank);
  }
  concluded_.notify_all();
}

/// "rank 2 has ended", "rank 2 has failed: …".
std::string Rounds::describe_absence(int rank) const {
  const auto failed = std::ranges::find(failures_, rank, &Failure::rank);
  if (failed == failures_.end()) return name_ranks({rank}) + " has ended";
  return name_ranks({rank}) + " has failed: " + words_of(failed->error);
}

}  // namespace iris
