#include "runtime/world/collectives.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "runtime/world/packing.hpp"

namespace iris {

void Collectives::barrier(CollectiveCall call) {
  all_gather(std::move(call), {});
}

std::string Collectives::broadcast(CollectiveCall call, std::string content) {
  return std::move(all_gather(std::move(call), rank() == 0 ? std::move(content) : std::string()).front());
}

void Collectives::hand_over(const CollectiveCall& call, const Files& /*files*/, const TakeFiles& /*take*/) {
  throw std::logic_error(call.call + ": ranks of one process have no files to hand over");
}

std::vector<std::string> Collectives::all_gather_or_fail(const CollectiveCall& call, const std::string& error,
                                                         std::string content) {
  std::vector<std::string> contents;
  std::string failure;
  for (const std::string& said : all_gather(call, pack({error, std::move(content)}))) {
    std::vector<std::string> texts = unpack(said, 2);
    if (failure.empty() && !texts[0].empty()) {
      failure = call.call + " cannot be done on rank " + std::to_string(ranks()[contents.size()]) + ": " + texts[0];
    }
    contents.push_back(std::move(texts[1]));
  }
  if (!failure.empty()) throw std::runtime_error(failure);
  return contents;
}

namespace {

/// "rank 1: barrier(); ranks 0, 2: allocate(64 bytes)".
std::string list_by_words(std::span<const std::string> words, const std::vector<int>& ranks) {
  std::vector<std::pair<std::string, std::vector<int>>> sayings;
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto saying = std::ranges::find(sayings, words[i], &decltype(sayings)::value_type::first);
    if (saying == sayings.end()) saying = sayings.insert(sayings.end(), {words[i], {}});
    saying->second.push_back(ranks[i]);
  }
  std::string sentence;
  for (const auto& [said, sayers] : sayings) {
    if (!sentence.empty()) sentence += "; ";
    sentence += name_ranks(sayers) + ": " + said;
  }
  return sentence;
}

std::string list_by(std::span<const CollectiveCall> calls, const std::vector<int>& ranks,
                    std::string CollectiveCall::* text) {
  std::vector<std::string> words;
  words.reserve(calls.size());
  for (const CollectiveCall& call : calls) words.push_back(call.*text);
  return list_by_words(words, ranks);
}

std::string list_of(const std::vector<int>& numbers) {
  std::string list;
  for (const int number : numbers) list += (list.empty() ? "" : ", ") + std::to_string(number);
  return list;
}

}  // namespace

std::string describe_difference(std::span<const CollectiveCall> calls, const std::vector<int>& ranks) {
  const CollectiveCall& first = calls.front();
  const auto differs = [&](auto member) {
    return std::ranges::any_of(calls, [&](const CollectiveCall& call) { return call.*member != first.*member; });
  };
  if (differs(&CollectiveCall::call)) {
    return "ranks disagree in a collective call, which all must make alike and in the same order; " +
           list_by(calls, ranks, &CollectiveCall::call);
  }
  if (differs(&CollectiveCall::digest)) {
    return "ranks disagree before " + first.call + ": every rank must have allocated and freed the same; " +
           list_by(calls, ranks, &CollectiveCall::state);
  }
  return {};
}

std::vector<int> find_deadlock(const std::map<int, std::vector<int>>& awaited) {
  std::map<int, std::vector<int>> stuck = awaited;
  const auto may_go_on = [&](const auto& waiting) {
    return std::ranges::none_of(waiting.second, [&](int rank) { return stuck.contains(rank); });
  };
  while (std::erase_if(stuck, may_go_on) > 0) {
  }
  std::vector<int> ranks;
  ranks.reserve(stuck.size());
  for (const auto& [rank, others] : stuck) ranks.push_back(rank);
  return ranks;
}

std::string describe_deadlock(std::span<const std::string> calls, const std::vector<int>& ranks) {
  return "ranks wait for one another in calls of different groups, which all must make in the same order; " +
         list_by_words(calls, ranks);
}

std::vector<std::string> in_order_of(const std::vector<int>& ranks, std::vector<std::string> ascending) {
  std::vector<std::string> ordered;
  ordered.reserve(ranks.size());
  for (const int rank : ranks) {
    const auto before = std::ranges::count_if(ranks, [rank](int other) { return other < rank; });
    ordered.push_back(std::move(ascending[static_cast<std::size_t>(before)]));
  }
  return ordered;
}

std::string name_group(const std::vector<int>& ranks) {
  return "group {" + list_of(ranks) + "}";
}

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

}  // namespace iris
