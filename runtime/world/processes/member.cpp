#include "runtime/world/processes/member.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "runtime/system/log.hpp"
#include "runtime/world/collectives.hpp"
#include "runtime/world/packing.hpp"
#include "runtime/world/processes/launcher.hpp"
#include "runtime/world/processes/unix_socket.hpp"

namespace iris {
namespace {

constexpr std::chrono::milliseconds between_attempts{5};

std::string seconds(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + " s";
}

/// The processes of all ranks, by the numbers that the hub has for them.
std::vector<RankProcess> open_processes(const std::vector<std::string>& numbers, int own) {
  const bool same_numbers = numbers.at(static_cast<std::size_t>(own)) == std::to_string(::getpid());
  std::vector<RankProcess> processes;
  for (const std::string& number : numbers) {
    const long handle = same_numbers ? ::syscall(SYS_pidfd_open, std::stol(number), 0) : -1;
    processes.push_back({number, Descriptor(static_cast<int>(handle))});
  }
  return processes;
}

bool has_ended(const RankProcess& process) {
  pollfd handle{process.handle.get(), POLLIN, 0};
  return handle.fd >= 0 && ::poll(&handle, 1, 0) > 0;
}

}  // namespace

Member::Member(const LaunchedProcess& self, const std::string& name, const ProcessOptions& options)
    : self_(self),
      options_(options),
      notices_(static_cast<std::size_t>(self.size)),
      lost_(static_cast<std::size_t>(self.size)) {
  all_.ranks.resize(lost_.size());
  std::iota(all_.ranks.begin(), all_.ranks.end(), 0);
  channel_ = std::make_unique<Channel>(find_hub(name));
  channel_->queue({.kind = Message::Kind::hello, .bytes = pack_hello(self.job, self.size, self.rank)});
  last_heard_ = Clock::now();
  service_ = std::make_unique<Service>("the sockets of rank " + std::to_string(self.rank), [this] { serve(); });
  try {
    await_welcome();
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.wake();
    service_->join();
    throw;
  }
}

void Member::leave() {
  const std::lock_guard lock(mutex_);
  if (!leaving_) channel_->queue({.kind = Message::Kind::bye});
  leaving_ = true;
  wake_.wake();
}

Member::~Member() {
  leave();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.wake();
  service_->join();
}

/// The hub's socket. Rank 0 makes the hub; the others try until it is there.
Descriptor Member::find_hub(const std::string& name) {
  for (;; std::this_thread::sleep_for(between_attempts)) {
    if (self_.rank == 0 && hub_ == nullptr) {
      Descriptor listener = listen_at(SOCK_STREAM, name, self_.size + 64);
      if (listener.get() >= 0) {
        ::fcntl(listener.get(), F_SETFL, ::fcntl(listener.get(), F_GETFL) | O_NONBLOCK);
        hub_ = std::make_unique<Hub>(std::move(listener), self_.size, self_.job, options_);
      } else if (errno != EADDRINUSE) {
        throw std::runtime_error(std::string("rank 0 cannot listen for the others: ") + std::strerror(errno));
      }
    }
    if (self_.rank != 0 || hub_ != nullptr) {
      Descriptor socket = connect_to(SOCK_STREAM, name);
      if (socket.get() >= 0) {
        if (is_own(socket.get())) return socket;
        throw std::runtime_error("another user's process listens where rank 0 of this job should; start the job anew");
      }
      if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) {
        throw std::runtime_error("rank " + std::to_string(self_.rank) +
                                 " cannot connect to rank 0: " + std::strerror(errno));
      }
    }
    if (Clock::now() - began_ > options_.patience) {
      throw std::runtime_error(
          self_.rank == 0 ? "rank 0 cannot listen for the others: another process of this job's name has done so for " +
                                seconds(options_.patience) + "; end that one, or start the job under another name"
                          : "rank " + std::to_string(self_.rank) + " has waited " + seconds(options_.patience) +
                                " for rank 0, which " + self_.by + " says is on this host, and which has not come");
    }
  }
}

void Member::await_welcome() {
  std::unique_lock lock(mutex_);
  // The hub itself says who has not come, after the same time; it may have begun later.
  const auto settled = [this] { return welcome_ || !refusal_.empty() || first_loss() != nullptr; };
  const bool in_time = changed_.wait_for(lock, 2 * options_.patience + options_.silence, settled);
  if (welcome_) return;
  const std::string who = "rank " + std::to_string(self_.rank) + " of " + std::to_string(self_.size);
  if (!refusal_.empty()) throw std::runtime_error(who + " is refused by rank 0: " + refusal_);
  throw std::runtime_error(who + " cannot begin: " + (in_time ? *first_loss() : "rank 0 does not answer"));
}

std::vector<std::string> Member::all_gather(const std::string& bytes, const std::string& call) {
  return all_gather_among(all_, bytes, call);
}

std::vector<std::string> Member::all_gather_among(const Subset& subset, const std::string& bytes,
                                                  const std::string& call) {
  std::uint64_t known_news = 0;
  {
    const std::lock_guard lock(mutex_);
    known_news = news_;
  }
  if (const std::string why = why_in_vain(subset); !why.empty()) {
    throw std::runtime_error(call + " cannot be done: " + why);
  }
  // Packed and unpacked without the lock: while it is held, nobody hears from this rank.
  Message mine{.kind = Message::Kind::contribute, .text = call};
  mine.bytes = Contribution{.subset = subset.name, .ranks = subset.ranks, .packed = pack(std::span(&bytes, 1))}.pack();
  {
    const std::lock_guard lock(mutex_);
    if (leaving_) throw std::runtime_error(call + " cannot be done: this rank has left its world");
    result_.reset();
    deadlock_.clear();
    call_ = call;
    mine.call = ++call_number_;
    channel_->queue(mine);
  }
  wake_.wake();
  return unpack(await_result(subset, call, known_news), subset.ranks.size());
}

/// The result of the call, packed. Throws if there will be none. What comes of the hub does so in order: before a rank
/// ends, the result of its last call.
std::string Member::await_result(const Subset& subset, const std::string& call, std::uint64_t known_news) {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return result_.has_value() || !deadlock_.empty() || news_ != known_news; });
      if (result_.has_value()) return std::exchange(result_, std::nullopt).value();
      if (!deadlock_.empty()) throw DeadlockError(call + " cannot be done: " + deadlock_);
      known_news = news_;
    }
    std::string why = why_in_vain(subset);
    if (why.empty()) continue;
    const std::lock_guard lock(mutex_);
    if (result_.has_value()) return std::exchange(result_, std::nullopt).value();
    channel_->queue({.kind = Message::Kind::withdraw, .call = call_number_});
    wake_.wake();
    throw std::runtime_error(why.insert(0, call + " cannot be done: "));
  }
}

/// Why a call in the subset waits for a rank that will not make it; empty while it may. The whole needs everybody, and
/// a rank whose body is over goes on taking part there.
std::string Member::why_in_vain(const Subset& subset) const {
  std::vector<int> noticed;
  {
    const std::lock_guard lock(mutex_);
    noticed = noticed_;
    if (first_loss() != nullptr && (subset.name.empty() || hub_is_gone_)) return *first_loss();
    for (const std::size_t rank : losses_) {  // others may have gone because the first has
      if (std::ranges::find(subset.ranks, static_cast<int>(rank)) != subset.ranks.end()) return lost_[rank];
    }
  }
  for (const int rank : noticed) {
    if (std::ranges::find(subset.ranks, rank) == subset.ranks.end()) continue;
    const std::string why = subset.absence != nullptr && rank != self_.rank ? subset.absence(rank) : std::string();
    if (!why.empty()) return why;
  }
  return {};
}

namespace {

/// A subset of the ranks of a hub. Who is lost, and what is posted, is known of the whole.
class PartOfMember final : public Bootstrap {
 public:
  PartOfMember(std::shared_ptr<Member> whole, Subset subset)
      : whole_(std::move(whole)),
        subset_(std::move(subset)),
        rank_(static_cast<int>(std::ranges::find(subset_.ranks, whole_->rank()) - subset_.ranks.begin())) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(subset_.ranks.size()); }
  std::vector<std::string> all_gather(const std::string& bytes, const std::string& call) override {
    return whole_->all_gather_among(subset_, bytes, call);
  }

 private:
  std::shared_ptr<Member> whole_;
  Subset subset_;
  int rank_;
};

}  // namespace

std::shared_ptr<Bootstrap> Member::split(const Subset& subset) {
  return std::make_shared<PartOfMember>(shared_from_this(), subset);
}

void Member::post(const std::string& notice) {
  const std::lock_guard lock(mutex_);
  channel_->queue({.kind = Message::Kind::notice, .bytes = notice});
  wake_.wake();
}

std::string Member::notice(int rank) const {
  const std::lock_guard lock(mutex_);
  return notices_.at(static_cast<std::size_t>(rank));
}

/// Without the hub, who else has ended shows by the processes alone.
std::string Member::lost(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto place = static_cast<std::size_t>(rank);
  if (!lost_.at(place).empty() || !hub_is_gone_ || processes_.empty() || !has_ended(processes_[place]))
    return lost_[place];
  return "rank " + std::to_string(rank) + " (process " + processes_[place].number + ") has ended";
}

void Member::serve() {
  const LogRank rank(self_.rank, self_.size);
  Patience patience(options_.silence);
  std::optional<Clock::time_point> stopped;
  for (;;) {
    pollfd sockets[2] = {{wake_.number(), POLLIN, 0}, {-1, POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      sockets[1].fd = hub_is_gone_ ? -1 : channel_->number();
      if (channel_->has_output()) sockets[1].events |= POLLOUT;
    }
    ::poll(sockets, 2, static_cast<int>(Patience::tick.count()));
    wake_.clear();
    patience.pass();

    std::unique_lock lock(mutex_);
    if (!hub_is_gone_) hear(patience);
    if (!hub_is_gone_) say(patience);
    changed_.notify_all();
    if (stopping_ && !stopped.has_value()) stopped = patience.now();
    const bool ends = stopping_ && (hub_is_gone_ || !channel_->has_output() ||
                                    patience.now() - stopped.value() > std::chrono::seconds(1));
    const std::vector<LogEntry> entries = std::exchange(entries_, {});
    lock.unlock();
    for (const LogEntry& entry : entries) log(entry.level, [&] { return entry.text; });
    if (ends) return;
  }
}

void Member::hear(const Patience& patience) {
  std::vector<Message> messages;
  const std::uint64_t before = channel_->received();
  const bool alive = channel_->receive(messages);
  if (channel_->received() != before) last_heard_ = patience.now();
  for (Message& message : messages) take(message);
  if (!alive) {
    lose_hub("has vanished");
  } else if (patience.is_out(last_heard_)) {
    lose_hub("has not been heard of for " + seconds(options_.silence) + ", as if it were stopped");
  }
}

void Member::say(const Patience& patience) {
  if (patience.now() - last_beat_ >= Patience::beat) {
    last_beat_ = patience.now();
    channel_->queue({.kind = Message::Kind::beat});
  }
  channel_->send();  // a failure shows when it is heard
}

void Member::take(Message& message) {
  const auto rank = static_cast<std::size_t>(message.rank);
  switch (message.kind) {
    case Message::Kind::welcome:
      welcome_ = true;
      processes_ = open_processes(unpack(message.bytes, static_cast<std::size_t>(self_.size)), self_.rank);
      return;
    case Message::Kind::refused:
      refusal_ = std::move(message.text);
      return;
    case Message::Kind::result:
      if (message.call != call_number_) return;
      result_ = std::move(message.bytes);
      last_call_ = call_;
      return;
    case Message::Kind::deadlock:
      if (message.call == call_number_) deadlock_ = std::move(message.text);
      return;
    case Message::Kind::notice:
      ++news_;
      if (rank >= notices_.size()) return;
      notices_[rank] = std::move(message.bytes);
      std::erase(noticed_, message.rank);
      noticed_.push_back(message.rank);
      return;
    case Message::Kind::lost:
    case Message::Kind::left:
      ++news_;
      if (rank >= lost_.size() || !lost_[rank].empty()) return;
      lost_[rank] = std::move(message.text);
      losses_.push_back(rank);
      entries_.push_back({message.kind == Message::Kind::lost ? LogLevel::warning : LogLevel::debug, lost_[rank]});
      return;
    default:
      return;
  }
}

/// Only the hub knows what a rank is doing; of rank 0 there is what all ranks did last.
void Member::lose_hub(const std::string& how) {
  hub_is_gone_ = true;
  ++news_;
  if (leaving_ || !lost_.front().empty()) return;  // we, or it, have said so
  std::string words = "rank 0";
  if (!processes_.empty()) words += " (process " + processes_.front().number + ")";
  words += " " + how;
  words += last_call_.empty() ? " before its first call" : " after its call of " + last_call_;
  lost_.front() = words;
  entries_.push_back({LogLevel::warning, words});
  losses_.push_back(0);
}

const std::string* Member::first_loss() const {
  return losses_.empty() ? nullptr : &lost_[losses_.front()];
}

}  // namespace iris
