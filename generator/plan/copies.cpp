#include "generator/plan/copies.hpp"

namespace irisgen {

Draft plan_copies(const Request& request, const std::vector<Argument>& arguments, iris::BlockIndex from_block) {
  const Problem& problem = request.problem;
  Draft draft;
  draft.arguments = place(arguments, 1, {"output"});
  draft.kernels.push_back(barrier_kernel(request));
  const iris::Step meet = {.stream = 0, .action = launch_of(draft, 0, {})};
  const auto copy_to = [&](int peer_offset) {
    return iris::CopyStep{.from = "input",
                          .from_block = from_block,
                          .to = "output",
                          .to_block = iris::BlockIndex::rank,
                          .peer_offset = peer_offset,
                          .shape = {{"m"}, {"n"}}};
  };
  draft.steps.push_back(meet);
  draft.steps.push_back({1, iris::WaitStep{0}});
  draft.steps.push_back({1, copy_to(0)});
  for (int offset = 1; offset < problem.world; ++offset) draft.steps.push_back({0, copy_to(offset)});
  draft.steps.push_back({0, iris::WaitStep{1}});
  draft.steps.push_back(meet);
  return draft;
}

std::vector<Work> cost_of_copies(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  std::vector<Work> works = {{.signals = 1}};
  for (int peer = 1; peer < problem.world; ++peer) works.push_back({.link_bytes = bytes, .by_copy_engine = true});
  // The own copy runs beside the others, but it costs its command.
  works.push_back({.memory_bytes = problem.world == 1 ? 2 * bytes : 0, .by_copy_engine = true});
  works.push_back({.signals = 1});
  return works;
}

}  // namespace irisgen
