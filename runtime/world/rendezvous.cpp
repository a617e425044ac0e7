#include "runtime/world/rendezvous.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace iris {

namespace {

/// "rank 1 calls barrier(); ranks 0, 2 call allocate(64 bytes)", by whatever `text` says of a ticket.
std::string group_by(const std::vector<Ticket>& tickets, std::string Ticket::* text) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (std::size_t rank = 0; rank < tickets.size(); ++rank) {
    const std::string& said = tickets[rank].*text;
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

/// Empty if all tickets agree.
std::string judge(const std::vector<Ticket>& tickets) {
  const Ticket& first = tickets.front();
  const auto differs = [&](auto member) {
    return std::ranges::any_of(tickets, [&](const Ticket& ticket) { return ticket.*member != first.*member; });
  };
  if (differs(&Ticket::call)) {
    return "ranks disagree in a collective call, which all must make alike and in the same order; " +
           group_by(tickets, &Ticket::call);
  }
  if (differs(&Ticket::digest)) {
    return "ranks disagree before " + first.call + ": every rank must have allocated and freed the same; " +
           group_by(tickets, &Ticket::state);
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
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

Rendezvous::Rendezvous(int ranks, RankObserver* observer)
    : ranks_(ranks), observer_(observer), meeting_(new_meeting()), gone_(static_cast<std::size_t>(ranks)) {
  std::iota(gone_.begin(), gone_.end(), 0);  // nobody is there before begin()
}

void Rendezvous::begin() {
  const std::lock_guard lock(mutex_);
  gone_.clear();
  failures_.clear();
  meeting_ = new_meeting();
  for (int rank = 0; observer_ != nullptr && rank < ranks_; ++rank) observer_->resumed(rank);
}

void Rendezvous::meet(int rank, Ticket ticket) {
  std::unique_lock lock(mutex_);
  if (!gone_.empty()) throw std::runtime_error(ticket.call + " cannot be done: " + describe_absence(gone_.front()));
  const std::shared_ptr<Meeting> meeting = meeting_;
  const std::string doing = "waits in " + ticket.call;
  meeting->tickets[static_cast<std::size_t>(rank)] = std::move(ticket);
  std::vector<Ticket> present;
  for (const auto& arrived : meeting->tickets) {
    if (arrived.has_value()) present.push_back(*arrived);
  }
  if (present.size() == meeting->tickets.size()) {
    conclude(judge(present), rank);
  } else {
    if (observer_ != nullptr) observer_->parked(rank, doing);
    concluded_.wait(lock, [&] { return meeting->over; });
  }
  if (!meeting->verdict.empty()) throw std::runtime_error(meeting->verdict);
}

void Rendezvous::leave(int rank, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  gone_.push_back(rank);
  if (error != nullptr) failures_.push_back({rank, std::move(error)});
  for (const auto& ticket : meeting_->tickets) {
    if (!ticket.has_value()) continue;
    conclude(ticket->call + " cannot be done: " + describe_absence(rank), rank);
    break;
  }
  if (observer_ != nullptr) observer_->parked(rank, describe_absence(rank).substr(name_ranks({rank}).size() + 1));
}

std::optional<Rendezvous::Failure> Rendezvous::failure() const {
  const std::lock_guard lock(mutex_);
  if (failures_.empty()) return std::nullopt;
  const std::string words = words_of(failures_.front().error);
  const Failure* lowest = &failures_.front();
  for (const Failure& other : failures_) {
    if (other.rank < lowest->rank && words_of(other.error) == words) lowest = &other;
  }
  return *lowest;
}

std::shared_ptr<Rendezvous::Meeting> Rendezvous::new_meeting() const {
  auto meeting = std::make_shared<Meeting>();
  meeting->tickets.resize(static_cast<std::size_t>(ranks_));
  return meeting;
}

/// Lets the ranks that wait go on. They count as running from here, before the caller can cease to: there is no moment
/// at which all seem to wait.
void Rendezvous::conclude(std::string verdict, int caller) {
  const std::shared_ptr<Meeting> concluded = std::exchange(meeting_, new_meeting());
  concluded->verdict = std::move(verdict);
  concluded->over = true;
  for (int rank = 0; observer_ != nullptr && rank < ranks_; ++rank) {
    if (rank != caller && concluded->tickets[static_cast<std::size_t>(rank)].has_value()) observer_->resumed(rank);
  }
  concluded_.notify_all();
}

/// "rank 2 has ended", "rank 2 has failed: …".
std::string Rendezvous::describe_absence(int rank) const {
  const auto failed = std::ranges::find(failures_, rank, &Failure::rank);
  if (failed == failures_.end()) return name_ranks({rank}) + " has ended";
  return name_ranks({rank}) + " has failed: " + words_of(failed->error);
}

}  // namespace iris
