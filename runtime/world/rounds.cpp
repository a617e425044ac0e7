#include "runtime/world/rounds.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <set>
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

/// One collective call: kept by each rank that waits in it until it has read the verdict.
struct Rounds::Round {
  std::vector<std::optional<CollectiveCall>> calls;  // of the ranks that have arrived
  std::vector<std::string> contents;
  std::shared_ptr<void> memory;  // that one of them has brought
  bool over = false;
  std::string verdict;  // empty if all went well

  explicit Round(std::size_t ranks) : calls(ranks), contents(ranks) {}

  const std::string& call() const { return std::ranges::find_if(calls, &has_arrived)->value().call; }
  static bool has_arrived(const std::optional<CollectiveCall>& call) { return call.has_value(); }
};

Rounds::Rounds(int ranks, RankObserver* observer)
    : ranks_(ranks), observer_(observer), all_(std::make_shared<Circle>()), gone_(static_cast<std::size_t>(ranks)) {
  std::iota(gone_.begin(), gone_.end(), 0);  // nobody is there before begin()
  all_->ranks = gone_;
  all_->round = std::make_shared<Round>(all_->ranks.size());
}

void Rounds::begin() {
  const std::lock_guard lock(mutex_);
  gone_.clear();
  failures_.clear();
  for (int rank = 0; observer_ != nullptr && rank < ranks_; ++rank) observer_->resumed(rank);
}

std::shared_ptr<Rounds::Circle> Rounds::among(int rank, CollectiveCall call, std::vector<int> ranks) {
  std::ranges::sort(ranks);
  const auto new_circle = [&] { return Circle{ranks, std::make_shared<Round>(ranks.size())}; };
  std::shared_ptr<Circle> made;
  if (rank == ranks.front()) made = std::make_shared<Circle>(new_circle());
  Circle* makers = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = makers_.find(ranks);
    makers = found != makers_.end() ? &found->second : &makers_.emplace(ranks, new_circle()).first->second;
  }
  return std::static_pointer_cast<Circle>(meet(*makers, rank, std::move(call), {}, std::move(made))->memory);
}

std::vector<std::string> Rounds::all_gather(Circle& circle, int rank, CollectiveCall call, std::string content) {
  return meet(circle, rank, std::move(call), std::move(content))->contents;
}

std::shared_ptr<void> Rounds::share_memory(Circle& circle, int rank, CollectiveCall call,
                                           std::shared_ptr<void> memory) {
  return meet(circle, rank, std::move(call), {}, std::move(memory))->memory;
}

/// The round that it took part in, once that is over.
std::shared_ptr<Rounds::Round> Rounds::meet(Circle& circle, int rank, CollectiveCall call, std::string content,
                                            std::shared_ptr<void> memory) {
  std::unique_lock lock(mutex_);
  for (const int gone : gone_) {
    if (!std::ranges::binary_search(circle.ranks, gone)) continue;
    throw std::runtime_error(call.call + " cannot be done: " + describe_absence(gone));
  }
  const std::shared_ptr<Round> round = circle.round;
  const auto place = static_cast<std::size_t>(std::ranges::lower_bound(circle.ranks, rank) - circle.ranks.begin());
  const std::string doing = "waits in " + call.call;
  round->calls[place] = std::move(call);
  round->contents[place] = std::move(content);
  if (memory != nullptr) round->memory = std::move(memory);
  if (std::ranges::all_of(round->calls, &Round::has_arrived)) {
    std::vector<CollectiveCall> calls;
    for (const auto& arrived : round->calls) calls.push_back(arrived.value());
    conclude(circle, describe_difference(calls, circle.ranks), rank);
  } else {
    waiting_[rank] = &circle;
    fail_deadlocked(rank);
    if (observer_ != nullptr && !round->over) observer_->parked(rank, doing);
    concluded_.wait(lock, [&] { return round->over; });
  }
  if (!round->verdict.empty()) throw std::runtime_error(round->verdict);
  return round;
}

void Rounds::leave(int rank, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  gone_.push_back(rank);
  if (error != nullptr) failures_.push_back({rank, std::move(error)});
  const std::map<int, Circle*> waiting = waiting_;
  for (const auto& [other, circle] : waiting) {
    if (!waiting_.contains(other) || !std::ranges::binary_search(circle->ranks, rank)) continue;
    conclude(*circle, circle->round->call() + " cannot be done: " + describe_absence(rank), rank);
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

/// Lets the ranks that wait go on. They count as running from here, before the caller can cease to: there is no moment
/// at which all seem to wait.
void Rounds::conclude(Circle& circle, std::string verdict, int caller) {
  const std::shared_ptr<Round> concluded = std::exchange(circle.round, std::make_shared<Round>(circle.ranks.size()));
  concluded->verdict = std::move(verdict);
  concluded->over = true;
  for (std::size_t i = 0; i < circle.ranks.size(); ++i) {
    const int rank = circle.ranks[i];
    if (!concluded->calls[i].has_value()) continue;
    waiting_.erase(rank);
    if (observer_ != nullptr && rank != caller) observer_->resumed(rank);
  }
  concluded_.notify_all();
}

/// If the caller's wait has closed a ring of ranks that wait for one another.
void Rounds::fail_deadlocked(int caller) {
  std::map<int, std::vector<int>> awaited;
  for (const auto& [rank, circle] : waiting_) {
    std::vector<int>& others = awaited[rank];
    for (std::size_t i = 0; i < circle->ranks.size(); ++i) {
      if (!circle->round->calls[i].has_value()) others.push_back(circle->ranks[i]);
    }
  }
  const std::vector<int> ranks = find_deadlock(awaited);
  if (ranks.empty()) return;
  std::vector<std::string> calls;
  std::set<Circle*> circles;
  for (const int rank : ranks) {
    Circle* const circle = waiting_.at(rank);
    circles.insert(circle);
    const auto place = std::ranges::lower_bound(circle->ranks, rank) - circle->ranks.begin();
    calls.push_back(circle->round->calls[static_cast<std::size_t>(place)].value().call);
  }
  const std::string why = describe_deadlock(calls, ranks);
  for (Circle* circle : circles) conclude(*circle, circle->round->call() + " cannot be done: " + why, caller);
}

/// "rank 2 has ended", "rank 2 has failed: …".
std::string Rounds::describe_absence(int rank) const {
  const auto failed = std::ranges::find(failures_, rank, &Failure::rank);
  if (failed == failures_.end()) return name_ranks({rank}) + " has ended";
  return name_ranks({rank}) + " has failed: " + words_of(failed->error);
}

ThreadCollectives::ThreadCollectives(Rounds& rounds, std::shared_ptr<Rounds::Circle> circle, std::vector<int> ranks,
                                     int world_rank)
    : rounds_(rounds),
      circle_(std::move(circle)),
      ranks_(std::move(ranks)),
      world_rank_(world_rank),
      rank_(static_cast<int>(std::ranges::find(ranks_, world_rank) - ranks_.begin())) {}

std::vector<std::string> ThreadCollectives::all_gather(CollectiveCall call, std::string content) {
  return in_order_of(ranks_, rounds_.all_gather(*circle_, world_rank_, std::move(call), std::move(content)));
}

std::shared_ptr<void> ThreadCollectives::share_memory(CollectiveCall call, std::size_t bytes) {
  return rounds_.share_memory(*circle_, world_rank_, std::move(call), rank_ == 0 ? zeros(bytes) : nullptr);
}

std::unique_ptr<Collectives> ThreadCollectives::among(const std::vector<int>& ranks) {
  auto made = std::make_unique<ThreadCollectives>(rounds_, nullptr, ranks, world_rank_);
  made->circle_ = rounds_.among(world_rank_, {.call = name_group(ranks), .state = {}}, ranks);
  return made;
}

}  // namespace iris
