#include "runtime/world/process_collectives.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "runtime/world/packing.hpp"
#include "runtime/world/process_sharing.hpp"

namespace iris {

/// What a rank gives to an exchange: a call, or that its body is over.
struct ProcessCollectives::Part {
  enum class Kind { call, ended, failed };
  Kind kind = Kind::call;
  std::uint64_t time = 0;  ///< of the body's end, in nanoseconds of a clock that all processes share
  CollectiveCall call = {};
  std::string content = {};  ///< or the words of the failure

  std::string pack() const {
    return iris::pack({std::to_string(static_cast<int>(kind)), std::to_string(time), call.call, call.state,
                       std::to_string(call.digest), content});
  }
  static Part of(const std::string& bytes) {
    std::vector<std::string> texts = unpack(bytes, 6);
    return {.kind = static_cast<Kind>(std::stoi(texts[0])),
            .time = std::stoull(texts[1]),
            .call = {std::move(texts[2]), std::move(texts[3]), std::stoull(texts[4])},
            .content = std::move(texts[5])};
  }
};

namespace {

/// "rank 2 has ended", "rank 2 has failed: …".
std::string describe_end(int rank, bool failed, const std::string& words) {
  return name_ranks({rank}) + (failed ? " has failed: " + words : " has ended");
}

}  // namespace

ProcessCollectives::ProcessCollectives(std::shared_ptr<Bootstrap> bootstrap)
    : bootstrap_(std::move(bootstrap)), ranks_(static_cast<std::size_t>(bootstrap_->size())) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

std::vector<std::string> ProcessCollectives::all_gather(CollectiveCall call, std::string content) {
  const std::string name = call.call;
  std::vector<Part> parts = exchange({.call = std::move(call), .content = std::move(content)}, name);
  std::vector<CollectiveCall> calls;
  std::vector<std::string> contents;
  const Part* gone = nullptr;
  for (Part& part : parts) {
    const bool earlier = gone == nullptr || part.time < gone->time;
    if (part.kind != Part::Kind::call && earlier) gone = &part;
    calls.push_back(std::move(part.call));
    contents.push_back(part.kind == Part::Kind::call ? std::move(part.content) : std::string());
  }
  if (gone != nullptr) {
    throw std::runtime_error(
        name + " cannot be done: " +
        describe_end(static_cast<int>(gone - parts.data()), gone->kind == Part::Kind::failed, gone->content));
  }
  const std::string difference = describe_difference(calls, ranks_);
  if (!difference.empty()) throw std::runtime_error(difference);
  return contents;
}

std::shared_ptr<void> ProcessCollectives::share_memory(CollectiveCall call, std::size_t bytes) {
  return share_among_processes(*this, call, bytes);
}

std::unique_ptr<ProcessGroup> ProcessCollectives::split(const std::string& name, const std::vector<int>& ranks,
                                                        const std::vector<int>& ascending) {
  std::shared_ptr<Bootstrap> part =
      bootstrap_->split({.ranks = ascending, .name = name, .absence = [this](int peer) { return absence(peer); }});
  return std::make_unique<ProcessGroup>(std::move(part), ranks, ascending, *this);
}

ProcessCollectives::Maker& ProcessCollectives::maker_of(const std::vector<int>& ascending) {
  const auto found = makers_.find(ascending);
  if (found != makers_.end()) return found->second;
  return makers_.emplace(ascending, Maker{.members = split("groups", ascending, ascending)}).first->second;
}

/// The members agree on a number that none of them has seen in a group of theirs, so that nothing depends on how many
/// each has tried to make.
std::unique_ptr<Collectives> ProcessCollectives::among(const std::vector<int>& ranks) {
  std::vector<int> ascending = ranks;
  std::ranges::sort(ascending);
  Maker& maker = maker_of(ascending);
  const CollectiveCall call{.call = name_group(ranks), .state = {}};
  for (const std::string& said : maker.members->all_gather(call, std::to_string(maker.last_group))) {
    maker.last_group = std::max<std::uint64_t>(maker.last_group, std::stoull(said));
  }
  ++maker.last_group;
  std::unique_ptr<Collectives> made;
  maker.members->all_gather_or_fail(
      call, words_of_attempt([&] { made = split("group " + std::to_string(maker.last_group), ranks, ascending); }));
  return made;
}

void ProcessCollectives::hand_over(const CollectiveCall& call, const Files& files, const TakeFiles& take) {
  hand_over_among_processes(*this, call, files, [this](int peer) { return absence(peer); }, take);
}

void ProcessCollectives::begin() {
  const std::lock_guard lock(run_mutex_);
  ++run_;
  first_failure_.reset();
}

std::optional<ProcessCollectives::Failure> ProcessCollectives::leave(const std::exception_ptr& error) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const Part mine{.kind = error != nullptr ? Part::Kind::failed : Part::Kind::ended,
                  .time = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()),
                  .content = error != nullptr ? words_of(error) : std::string()};
  bootstrap_->post(iris::pack({std::to_string(run_), describe_end(rank(), error != nullptr, mine.content)}));
  for (;;) {
    try {
      const std::vector<Part> parts = exchange(mine, "the end of World::run");
      if (std::ranges::none_of(parts, [](const Part& part) { return part.kind == Part::Kind::call; })) break;
    } catch (const DeadlockError&) {  // NOLINT(bugprone-empty-catch): the others' bodies fail by it, and end
    }
  }
  if (!first_failure_.has_value()) return std::nullopt;
  return first_failure_->failure;
}

void ProcessCollectives::depart() {
  bootstrap_->post(iris::pack({std::to_string(run_), describe_end(rank(), false, {})}));
  bootstrap_->leave();
}

std::string ProcessCollectives::absence(int rank) const {
  std::string lost = bootstrap_->lost(rank);
  if (!lost.empty()) return lost;
  const std::string notice = bootstrap_->notice(rank);
  if (notice.empty()) return {};
  const std::vector<std::string> said = unpack(notice, 2);
  const std::lock_guard lock(run_mutex_);
  return said[0] == std::to_string(run_) ? said[1] : std::string();
}

std::vector<ProcessCollectives::Part> ProcessCollectives::exchange(const Part& mine, const std::string& call) {
  std::vector<Part> parts;
  for (const std::string& bytes : bootstrap_->all_gather(mine.pack(), call)) parts.push_back(Part::of(bytes));
  note_failures(parts);
  return parts;
}

/// The failure that came first counts; of those with the same words, that of the lowest rank.
void ProcessCollectives::note_failures(const std::vector<Part>& parts) {
  for (int rank = 0; rank < static_cast<int>(parts.size()); ++rank) {
    const Part& part = parts[static_cast<std::size_t>(rank)];
    if (part.kind != Part::Kind::failed) continue;
    const bool earlier = !first_failure_.has_value() || part.time < first_failure_->time;
    if (!earlier) continue;
    first_failure_ = {{rank, part.content}, part.time};
  }
  if (!first_failure_.has_value()) return;
  for (int rank = 0; rank < first_failure_->failure.rank; ++rank) {
    const Part& part = parts[static_cast<std::size_t>(rank)];
    if (part.kind != Part::Kind::failed || part.content != first_failure_->failure.words) continue;
    first_failure_ = {{rank, part.content}, std::min(part.time, first_failure_->time)};
    break;
  }
}

}  // namespace iris
