#include "generator/plan/copies.hpp"

#include <algorithm>

namespace irisgen {

namespace {

/// Of blocks that copy a shard beside copy engines. What copies at the memory's full speed holds up what comes from
/// peers: on four H200, 64 MiB to each, all takes 542 µs without a copy of its own, 545 beside 16 blocks, and 560
/// beside 64 or the copy engine.
constexpr std::int64_t gentle_blocks = 16;

KernelPlan own_shard_kernel(const Request& request, const std::vector<Argument>& arguments, iris::BlockIndex from) {
  const Problem& problem = request.problem;
  KernelPlan kernel = start_local_kernel(request, "copies/own_shard.hip");
  kernel.part = "own_shard";
  add_number(kernel, "input_shards", from == iris::BlockIndex::first ? 1 : problem.world, "", "");
  const int vector = choose_vector(request, kernel, problem.dtype);
  const std::int64_t threads = request.target.threads;
  add_number(kernel, "threads", threads, "", "");
  const auto count = static_count(problem, {{"m"}, {"n"}});
  const std::int64_t data_blocks = request.target.data_blocks;
  const std::int64_t most = problem.world == 1 ? data_blocks : std::min(data_blocks, gentle_blocks);
  const std::int64_t needed = count ? divide_up(*count, threads * vector) : most;
  add_number(kernel, "blocks", std::clamp<std::int64_t>(needed, 1, most), "",
             needed < most || problem.world == 1 ? "" : "more would hold up what comes from peers");
  bound_grid(request, kernel);
  choose_unroll(request, kernel, 1);
  add_types(request, kernel, {.operation = false});
  kernel.arguments = place(arguments, static_cast<int>(iris::bytes_of(problem.dtype)), {"output"});
  return kernel;
}

}  // namespace

Draft plan_copies(const Request& request, const std::vector<Argument>& arguments, iris::BlockIndex from_block) {
  Draft draft;
  draft.kernels = {barrier_kernel(request), own_shard_kernel(request, arguments, from_block)};
  draft.arguments = draft.kernels[1].arguments;
  const iris::Step meet = {.stream = 0, .action = launch_of(draft, 0, {})};
  draft.steps = {meet, {1, iris::WaitStep{0}}, {1, launch_of(draft, 1, {"input", "output"})}};
  for (int offset = 1; offset < request.problem.world; ++offset) {
    const iris::CopyStep copy = {.from = "input",
                                 .from_block = from_block,
                                 .to = "output",
                                 .to_block = iris::BlockIndex::rank,
                                 .peer_offset = offset,
                                 .shape = {{"m"}, {"n"}}};
    draft.steps.emplace_back(0, copy);
  }
  draft.steps.push_back({0, iris::WaitStep{1}});
  draft.steps.push_back(meet);
  return draft;
}

std::vector<Work> cost_of_copies(const Problem& problem, const Target&, const Draft&) {
  const double bytes = bytes_of_elements(problem);
  std::vector<Work> works = {{.signals = 1}};
  for (int peer = 1; peer < problem.world; ++peer) works.push_back({.link_bytes = bytes, .by_copy_engine = true});
  // The own copy runs beside the others, but it costs its launch.
  works.push_back({.memory_bytes = problem.world == 1 ? 2 * bytes : 0});
  works.push_back({.signals = 1});
  return works;
}

}  // namespace irisgen
