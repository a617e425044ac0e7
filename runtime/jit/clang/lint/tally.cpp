#include "runtime/jit/clang/lint/tally.hpp"

#include <algorithm>

namespace iris::clang_library::lint {

Tally tally(const Paths& paths, const clang::CFGBlock* from, const clang::CFGBlock* to, const Weigh& weigh) {
  std::map<const clang::CFGBlock*, Tally> begins = {{from, {}}};
  Tally returning;  // on ways that go round a loop before
  for (const clang::CFGBlock* block : paths.order()) {
    const auto begin = begins.find(block);
    if (begin == begins.end() || block == to) continue;
    const Tally here = weigh(block);
    Tally after = {begin->second.least + here.least, begin->second.most + here.most, begin->second.open || here.open};
    if (here.most > 0 && paths.leads(block, block)) after.open = true;
    for (const clang::CFGBlock* next : paths.successors(block)) {
      if (paths.is_back_edge(block, next)) returning.open = returning.open || after.open || after.most > 0;
      const auto [place, is_new] = begins.try_emplace(next, after);
      if (!is_new) {
        place->second = {std::min(place->second.least, after.least), std::max(place->second.most, after.most),
                         place->second.open || after.open};
      }
    }
  }
  const auto end = begins.find(to);
  return end == begins.end() ? returning : end->second;
}

bool may_be_even(const Paths& paths, const clang::CFGBlock* branch, const Weigh& weigh) {
  const clang::CFGBlock* join = paths.join_of(branch);
  if (join == nullptr) return true;
  std::vector<Tally> ways;
  for (const clang::CFGBlock* next : paths.successors(branch)) ways.push_back(tally(paths, next, join, weigh));
  const bool any_open = std::ranges::any_of(ways, &Tally::open);
  const bool all_count = std::ranges::all_of(ways, [](const Tally& way) { return way.open || way.most > 0; });
  if (any_open) return all_count;
  return std::ranges::all_of(ways,
                             [&](const Tally& way) { return way.least == way.most && way.most == ways.front().most; });
}

}  // namespace iris::clang_library::lint
