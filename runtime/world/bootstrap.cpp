#include "runtime/world/bootstrap.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace iris {

namespace {

/// "rank 1 calls barrier(); ranks 0, 2 call allocate(64 bytes)", by whatever `text` says of a call.
std::string group_by(const std::vector<CollectiveCall>& calls, std::string CollectiveCall::* text) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    const std::string& said = calls[rank].*text;
    auto group = std::ranges::find(groups, said, &decltype(groups)::value_type::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {said, {}});
    group->second.push_back(static_cast<int>(rank));
  }
  std::string sentence;
  for (const auto& [said, ranks] : groups) {
    if (!sentence.empty()) sentence += "; ";
    sentence += name_ranks(ranks) + ": " + said;
  }
  return sentence;
}

/// Empty if all calls agree.
std::string judge(const std::vector<CollectiveCall>& calls) {
  const CollectiveCall& first = calls.front();
  const auto differs = [&](auto member) {
    return std::ranges::any_of(calls, [&](const CollectiveCall& call) { return call.*member != first.*member; });
  };
  if (differs(&CollectiveCall::call)) {
    return "ranks disagree in a collective call, which all must make alike and in the same order; " +
           group_by(calls, &CollectiveCall::call);
  }
  if (differs(&CollectiveCall::digest)) {
    return "ranks disagree before " + first.call + ": every rank must have allocated and freed the same; " +
           group_by(calls, &CollectiveCall::state);
  }
  return {};
}

}  // namespace

std::string name_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (first > 0) text += ", ";
    text += std::to_string(ranks[first]);
    if (last > first) text += (last == first + 1 ? ", " : "-") + std::to_string(ranks[last]);
    first = last + 1;
  }
  return text;
}

std::string words_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return "out of memory; take a smaller shape, fewer ranks or a machine with more";
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

Bootstrap::Bootstrap(int ranks, RankObserver* observer)
    : ranks_(ranks), observer_(observer), round_(new_round()), gone_(static_cast<std::size_t>(ranks)) {
  std::iota(gone_.begin(), gone_.end(), 0);  // nobody is there before begin()
}

void Bootstrap::begin() {
  const std::lock_guard lock(mutex_);
  gone_.clear();
  failures_.clear();
  round_ = new_round();
  for (int rank = 0; observer_ != nullptr && rank < ranks_; ++rank) observer_->resumed(rank);
}

void Bootstrap::barrier(int rank, CollectiveCall call) {
  meet(rank, std::move(call));
}

std::string Bootstrap::broadcast(int rank, CollectiveCall call, std::string content) {
  return meet(rank, std::move(call), std::move(content))->content;
}

std::shared_ptr<void> Bootstrap::share(int rank, CollectiveCall call, std::shared_ptr<void> object) {
  return meet(rank, std::move(call), {}, std::move(object))->object;
}

/// The round that it took part in, once that is over.
std::shared_ptr<Bootstrap::Round> Bootstrap::meet(int rank, CollectiveCall call, std::string content,
                                                  std::shared_ptr<void> object) {
  std::unique_lock lock(mutex_);
  if (!gone_.empty()) throw std::runtime_error(call.call + " cannot be done: " + describe_absence(gone_.front()));
  const std::shared_ptr<Round> round = round_;
  const std::string doing = "waits in " + call.call;
  round->calls[static_cast<std::size_t>(rank)] = std::move(call);
  if (rank == 0) {
    round->content = std::move(content);
    round->object = std::move(object);
  }
  std::vector<CollectiveCall> present;
  for (const auto& arrived : round->calls) {
    if (arrived.has_value()) present.push_back(*arrived);
  }
  if (present.size() == round->calls.size()) {
    conclude(judge(present), rank);
  } else {
    if (observer_ != nullptr) observer_->parked(rank, doing);
    concluded_.wait(lock, [&] { return round->over; });
  }
  if (!round->verdict.empty()) throw std::runtime_error(round->verdict);
  return round;
}

void Bootstrap::leave(int rank, std::exception_ptr error) {
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

std::optional<Bootstrap::Failure> Bootstrap::failure() const {
  const std::lock_guard lock(mutex_);
  if (failures_.empty()) return std::nullopt;
  const std::string words = words_of(failures_.front().error);
  const Failure* lowest = &failures_.front();
  for (const Failure& other : failures_) {
    if (other.rank < lowest->rank && words_of(other.error) == words) lowest = &other;
  }
  return *lowest;
}

std::shared_ptr<Bootstrap::Round> Bootstrap::new_round() const {
  auto round = std::make_shared<Round>();
  round->calls.resize(static_cast<std::size_t>(ranks_));
  return round;
}

/// Lets the ranks that wait go on. They count as running from here, before the caller can cease to: there is no moment
/// at which all seem to wait.
void Bootstrap::conclude(std::string verdict, int caller) {
  const std::shared_ptr<Round> concluded = std::exchange(round_, new_round());
  concluded->verdict = std::move(verdict);
  concluded->over = true;
  for (int rank = 0; observer_ != nullptr && rank < ranks_; ++rank) {
    if (rank != caller && concluded->calls[static_cast<std::size_t>(rank)].has_value()) observer_->resumed(rank);
  }
  concluded_.notify_all();
}

/// "rank 2 has ended", "rank 2 has failed: …".
std::string Bootstrap::describe_absence(int rank) const {
  const auto failed = std::ranges::find(failures_, rank, &Failure::rank);
  if (failed == failures_.end()) return name_ranks({rank}) + " has ended";
  return name_ranks({rank}) + " has failed: " + words_of(failed->error);
}

}  // namespace iris
