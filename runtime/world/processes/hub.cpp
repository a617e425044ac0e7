#include "runtime/world/processes/hub.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ranges>
#include <span>
#include <stdexcept>
#include <utility>

#include "runtime/world/collectives.hpp"
#include "runtime/world/packing.hpp"
#include "runtime/world/processes/unix_socket.hpp"

namespace iris {
namespace {

/// Changes with what processes say to one another.
constexpr const char* protocol = "irisgen processes 4";

constexpr std::size_t most_of_stranger = 4096;
constexpr std::size_t most_strangers = 64;
constexpr std::chrono::seconds patience_with_strangers{5};
/// How long the end of rank 0 takes at most where another process does not read what it is told.
constexpr std::chrono::seconds last_words{1};
constexpr std::chrono::seconds patience_with_deadlocks{2};

}  // namespace

std::string pack_hello(const std::string& job, int size, int rank) {
  return pack({protocol, job, std::to_string(size), std::to_string(rank)});
}

std::string Contribution::pack() const {
  std::vector<std::string> texts = {subset, packed};
  for (const int rank : ranks) texts.push_back(std::to_string(rank));
  return iris::pack(texts);
}

Contribution Contribution::of(const std::string& packed, int size) {
  std::vector<std::string> texts = unpack(packed);
  if (texts.size() < 3) throw std::runtime_error("another process contributed to a call of nobody");
  Contribution contribution{.subset = std::move(texts[0]), .packed = std::move(texts[1])};
  for (const std::string& rank : std::span(texts).subspan(2)) {
    contribution.ranks.push_back(std::stoi(rank));
    if (contribution.ranks.back() < 0 || contribution.ranks.back() >= size) {
      throw std::runtime_error("another process contributed to a call with a rank that there is not");
    }
  }
  return contribution;
}

Hub::Hub(Descriptor listener, int size, std::string job, const ProcessOptions& options)
    : listener_(std::move(listener)),
      job_(std::move(job)),
      options_(options),
      patience_(options.silence),
      seats_(static_cast<std::size_t>(size)),
      service_("the sockets of rank 0", [this] { serve(); }) {}

Hub::~Hub() {
  stopping_ = true;
  wake_.wake();
  service_.join();
}

void Hub::serve() {
  std::optional<Clock::time_point> stopped;
  std::chrono::milliseconds wait = Patience::tick;
  for (;;) {
    wait_for_sockets(wait);
    wait = Patience::tick;
    patience_.pass();
    accept_strangers();
    hear_strangers();
    if (!complete_ && std::ranges::all_of(seats_, &Seat::has_come)) welcome_all();
    hear_seats();
    end_deadlock();
    if (!complete_) give_up_missing();
    beat();
    // Rank 0 last: if it goes as soon as it has its result, it takes the hub with it.
    for (Seat& seat : std::views::reverse(seats_)) {
      if (seat.channel != nullptr) seat.channel->send();  // a failure shows when it is heard
    }
    if (!stopping_) continue;
    if (!stopped.has_value()) {
      stopped = patience_.now();
      wait = {};
      continue;  // what ranks had said before, such as that they leave, is heard yet
    }
    if (everybody_is_told() || patience_.now() - *stopped > last_words) return;
  }
}

void Hub::wait_for_sockets(std::chrono::milliseconds most) {
  std::vector<pollfd> sockets = {{wake_.number(), POLLIN, 0}};
  const auto add = [&](const Channel& channel) {
    sockets.push_back({channel.number(), static_cast<short>(POLLIN | (channel.has_output() ? POLLOUT : 0)), 0});
  };
  if (accepts()) sockets.push_back({listener_.get(), POLLIN, 0});
  for (const Stranger& stranger : strangers_) add(*stranger.channel);
  for (const Seat& seat : seats_) {
    if (seat.channel != nullptr) add(*seat.channel);
  }
  ::poll(sockets.data(), sockets.size(), static_cast<int>(most.count()));
  wake_.clear();
}

bool Hub::accepts() const {
  return listener_.get() >= 0 && strangers_.size() < most_strangers && patience_.now() >= accepts_from_;
}

/// Other users' processes are not listened to. Where the system has no descriptor left for one who waits, the listener
/// would go on to say that somebody does: it is let alone for a while.
void Hub::accept_strangers() {
  while (accepts()) {
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        accepts_from_ = patience_.now() + Patience::tick;
      }
      return;
    }
    if (!is_own(socket.get())) continue;
    strangers_.push_back({std::make_unique<Channel>(std::move(socket)), patience_.now()});
  }
}

void Hub::hear_strangers() {
  std::erase_if(strangers_, [this](Stranger& stranger) {
    std::vector<Message> messages;
    const bool alive = stranger.channel->receive(messages, most_of_stranger);
    if (!messages.empty()) return messages.front().kind != Message::Kind::hello || admit(stranger, messages.front());
    return !alive || patience_.now() - stranger.since > patience_with_strangers;
  });
}

/// True: it needs no further attention, whether it was given its seat or refused.
bool Hub::admit(Stranger& stranger, const Message& hello) {
  const auto refuse = [&](const std::string& why) {
    stranger.channel->queue({.kind = Message::Kind::refused, .text = why});
    stranger.channel->send();
    return true;
  };
  const auto peer = peer_of(stranger.channel->number());
  if (!peer.has_value()) return true;
  std::size_t rank = 0;
  try {
    const std::vector<std::string> said = unpack(hello.bytes, 4);
    if (said[0] != protocol) return refuse("it is of another irisgen than rank 0; start the same one on every rank");
    if (said[1] != job_) return refuse("it belongs to another job");
    if (said[2] != std::to_string(seats_.size())) {
      return refuse("it was started as one of " + said[2] + " ranks, rank 0 as one of " +
                    std::to_string(seats_.size()));
    }
    rank = std::stoul(said[3]);
  } catch (const std::exception&) {
    return true;  // a stranger indeed
  }
  if (rank >= seats_.size() || seats_[rank].has_come) {
    return refuse("there is a rank " + std::to_string(rank) + " already");
  }
  if (!failure_.empty()) return refuse(failure_);
  Seat& seat = seats_[rank];
  seat.channel = std::move(stranger.channel);
  seat.process = peer->process;
  seat.last_heard = patience_.now();
  seat.has_come = true;
  return true;
}

void Hub::welcome_all() {
  complete_ = true;
  listener_.close();
  strangers_.clear();
  std::vector<std::string> processes;
  processes.reserve(seats_.size());
  for (const Seat& seat : seats_) processes.push_back(std::to_string(seat.process));
  tell_all({.kind = Message::Kind::welcome, .bytes = pack(processes)});
}

void Hub::hear_seats() {
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    Seat& seat = seats_[rank];
    if (seat.channel == nullptr) continue;
    std::vector<Message> messages;
    const std::uint64_t before = seat.channel->received();
    const bool alive = seat.channel->receive(messages);
    if (seat.channel->received() != before) seat.last_heard = patience_.now();
    for (Message& message : messages) {
      if (seat.channel != nullptr) take(rank, message);
    }
    if (seat.channel == nullptr) continue;
    if (!alive) {
      lose(rank, describe(rank) + " has vanished");
    } else if (patience_.is_out(seat.last_heard)) {
      lose(rank, describe(rank) + " has not been heard of for " + std::to_string(options_.silence.count() / 1000) +
                     " s, as if it were stopped");
    }
  }
}

void Hub::take(std::size_t rank, Message& message) {
  Seat& seat = seats_[rank];
  switch (message.kind) {
    case Message::Kind::contribute:
      seat.waits = true;
      seat.call = message.call;
      seat.last_call = std::move(message.text);
      try {
        seat.contribution = Contribution::of(message.bytes, static_cast<int>(seats_.size()));
      } catch (const std::exception&) {
        seat.waits = false;
        return lose(rank, describe(rank) + " has said what this irisgen does not understand");
      }
      no_longer_stuck(rank);
      // At once: what a rank says after its last call, such as that it has ended, comes after the result.
      conclude_round(seat.contribution);
      return;
    case Message::Kind::withdraw:
      seat.waits = false;
      no_longer_stuck(rank);
      return;
    case Message::Kind::notice:
      message.rank = static_cast<std::int32_t>(rank);
      tell_all(message);
      return;
    case Message::Kind::bye:
      seat.waits = false;
      lose(rank, {});
      return;
    default:
      return;
  }
}

/// If that was the last contribution to it.
void Hub::conclude_round(const Contribution& last) {
  if (!missing_from(last).empty()) return;
  const std::vector<int> ranks = last.ranks;
  // Shared by the channels and never copied: nobody hears from the hub meanwhile, and they may be very many bytes.
  std::vector<Channel::Bytes> parts;
  parts.reserve(ranks.size());
  for (const int rank : ranks) {
    Seat& seat = seats_[static_cast<std::size_t>(rank)];
    parts.push_back(std::make_shared<const std::string>(std::move(seat.contribution.packed)));
    seat.contribution = {};
    seat.waits = false;
  }
  for (const int rank : ranks) {
    const Seat& seat = seats_[static_cast<std::size_t>(rank)];
    seat.channel->queue({.kind = Message::Kind::result, .call = seat.call}, parts);
  }
}

/// Ranks of the subset that have not contributed to the same.
std::vector<int> Hub::missing_from(const Contribution& contribution) const {
  std::vector<int> missing;
  for (const int rank : contribution.ranks) {
    const Seat& seat = seats_[static_cast<std::size_t>(rank)];
    const bool same = seat.contribution.subset == contribution.subset && seat.contribution.ranks == contribution.ranks;
    if (seat.channel == nullptr || !seat.waits || !same) missing.push_back(rank);
  }
  return missing;
}

/// Ranks that wait for one another in calls of different subsets. A rank that has learned that another has ended waits
/// no longer, and says so, so what seems to be a deadlock must last a while.
void Hub::end_deadlock() {
  std::map<int, std::vector<int>> awaited;
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    if (seats_[rank].waits && seats_[rank].channel != nullptr)
      awaited[static_cast<int>(rank)] = missing_from(seats_[rank].contribution);
  }
  const std::vector<int> stuck = find_deadlock(awaited);
  if (stuck != stuck_) stuck_since_ = patience_.now();
  stuck_ = stuck;
  if (stuck_.empty() || patience_.now() - stuck_since_ < patience_with_deadlocks) return;
  std::vector<std::string> calls;
  calls.reserve(stuck_.size());
  for (const int rank : stuck_) calls.push_back(seats_[static_cast<std::size_t>(rank)].last_call);
  Message deadlock{.kind = Message::Kind::deadlock, .text = describe_deadlock(calls, stuck_)};
  for (const int rank : stuck_) {
    Seat& seat = seats_[static_cast<std::size_t>(rank)];
    seat.waits = false;
    deadlock.call = seat.call;
    seat.channel->queue(deadlock);
  }
  stuck_.clear();
}

/// What others do meanwhile changes nothing for those that wait for one another.
void Hub::no_longer_stuck(std::size_t rank) {
  if (std::ranges::find(stuck_, static_cast<int>(rank)) != stuck_.end()) stuck_.clear();
}

void Hub::beat() {
  if (patience_.now() - last_beat_ < Patience::beat) return;
  last_beat_ = patience_.now();
  tell_all({.kind = Message::Kind::beat});
}

/// `how` is empty for one that ended as it should.
void Hub::lose(std::size_t rank, const std::string& how) {
  Seat& seat = seats_[rank];
  std::string words = describe(rank) + " has ended";
  if (!how.empty()) {
    words = how;
    if (!complete_)
      words += " before all ranks had come";
    else if (seat.waits)
      words += " while it waited in " + seat.last_call;
    else if (seat.last_call.empty())
      words += " before its first call";
    else
      words += " after its call of " + seat.last_call;
  }
  failure_ = words;
  const Message lost{.kind = how.empty() ? Message::Kind::left : Message::Kind::lost,
                     .rank = static_cast<std::int32_t>(rank),
                     .text = words};
  tell_all(lost);
  seat.channel->send();
  seat.channel.reset();
}

void Hub::tell_all(const Message& message) {
  for (Seat& seat : seats_) {
    if (seat.channel != nullptr) seat.channel->queue(message);
  }
}

void Hub::give_up_missing() {
  if (!failure_.empty() || patience_.now() - began_ < options_.patience) return;
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    if (!seats_[rank].has_come) missing.push_back(static_cast<int>(rank));
  }
  failure_ = name_ranks(missing) + (missing.size() == 1 ? " has" : " have") + " not come within " +
             std::to_string(options_.patience.count() / 1000) + " s";
  tell_all({.kind = Message::Kind::lost, .rank = missing.front(), .text = failure_});
}

bool Hub::everybody_is_told() const {
  return std::ranges::none_of(seats_,
                              [](const Seat& seat) { return seat.channel != nullptr && seat.channel->has_output(); });
}

std::string Hub::describe(std::size_t rank) const {
  return "rank " + std::to_string(rank) + " (process " + std::to_string(seats_[rank].process) + ")";
}

}  // namespace iris
