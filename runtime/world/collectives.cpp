#include "runtime/world/collectives.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

namespace iris {

void Collectives::barrier(CollectiveCall call) {
  all_gather(std::move(call), {});
}

std::string Collectives::broadcast(CollectiveCall call, std::string content) {
  return std::move(all_gather(std::move(call), rank() == 0 ? std::move(content) : std::string()).front());
}

std::vector<Descriptor> Collectives::hand_over(const CollectiveCall& call, const Descriptor&) {
  throw std::logic_error(call.call + ": ranks of one process have no files to hand over");
}

namespace {

/// "rank 1 calls barrier(); ranks 0, 2 call allocate(64 bytes)", by whatever `text` says of a call.
std::string group_by(std::span<const CollectiveCall> calls, std::string CollectiveCall::* text) {
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

}  // namespace

std::string describe_difference(std::span<const CollectiveCall> calls) {
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
