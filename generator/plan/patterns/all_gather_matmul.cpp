#include <algorithm>
#include <cmath>

#include "generator/plan/compose.hpp"
#include "generator/plan/loop_times.hpp"
#include "generator/plan/matmul_planning.hpp"
#include "generator/plan/portions.hpp"
#include "generator/plan/reference.hpp"

namespace irisgen {
namespace {

std::vector<Argument> arguments(const Problem& problem) {
  return product_arguments(problem, {{"m", 1, problem.world}, {"k"}}, {"n"}, {{"m"}, {"n"}});
}

double shard_bytes(const Problem& problem) {
  return matrix_bytes(problem, {{"m", 1, problem.world}, {"k"}}, problem.dtype);
}

Products products(const Problem& problem, bool moves_by_blocks) {
  const Dimension rows = {"m", 1, problem.world};
  return {.rows = rows,
          .columns = {"n"},
          .count = problem.world,
          .a_rows = rows,
          .gathers_rows = true,
          .moves_by_blocks = moves_by_blocks,
          .sends_beside = !moves_by_blocks,
          .sent_bytes = problem.is_static() ? (problem.world - 1) * shard_bytes(problem) : 0,
          .parts = problem.world - 1};
}

/// What these kernels have: `blocks` of them push rows, into so many slots.
Draft plan_kernel(const Request& request, KernelPlan kernel, std::int64_t blocks, int slots) {
  const Problem& problem = request.problem;
  if (kernel.main_loop() != MainLoop::wgmma) choose_unroll(request, kernel, 2);  // that one pushes in bulk copies
  add_types(request, kernel, {.result = true, .accumulate = true});
  add_flags(kernel, blocks * problem.world);
  kernel.workspace = slots_of_rows(problem, kernel, slots);
  kernel.arguments = place(arguments(problem), 16, {});
  return draft_of(std::move(kernel), InPlace::no);
}

Draft plan_workgroup_specialized(const Request& request) {
  KernelPlan kernel = start_kernel(request, "all_gather_matmul/workgroup_specialized.hip");
  choose_tiles(request, kernel, products(request.typical(), true));
  choose_roles(request, kernel, products(request.typical(), true), "push rows to the peers");
  const std::int64_t blocks = kernel.number("comm_blocks");
  return plan_kernel(request, std::move(kernel), blocks, request.problem.world);
}

Draft plan_fused_sequential(const Request& request) {
  KernelPlan kernel = start_kernel(request, "all_gather_matmul/fused_sequential.hip");
  choose_tiles(request, kernel, products(request.typical(), false));
  choose_matmul_grid(request, kernel, products(request.typical(), false));
  const std::int64_t blocks = kernel.number("blocks");
  return plan_kernel(request, std::move(kernel), blocks, request.problem.world);
}

/// A copy and its flag cost as much as some megabytes on their way, and commands of the host's.
std::int64_t portions_for(const Request& request) {
  constexpr std::int64_t most_copies = 8;
  constexpr double portion_bytes = 16 << 20;
  const Problem& problem = request.typical();
  const std::int64_t most = std::max<std::int64_t>(1, most_copies / std::max(1, problem.world - 1));
  if (request.on_host() || !problem.is_static()) return std::min<std::int64_t>(most, 3);
  return std::clamp<std::int64_t>(std::llround(shard_bytes(problem) / portion_bytes), 1, most);
}

Products copied_products(const Problem& problem, std::int64_t portions) {
  Products copied = products(problem, false);
  copied.sends_beside = false;
  copied.by_copy_engine = true;
  copied.copies = portions * (problem.world - 1);
  copied.parts = 1;
  return copied;
}

/// Each portion of rows goes to each peer, and behind it the flag that this peer has raised here in the barrier before:
/// it shows the number of the peer's launch, so that nobody has to make one. The barrier also keeps the rows of the
/// launch before until all have used them.
void add_copies(const Problem& problem, Draft& draft, std::int64_t portions) {
  const KernelPlan& product = draft.kernels[1];
  const std::int64_t first_own_flag = product.flags - portions * problem.world;
  const int granule = static_cast<int>(product.number("tile_m"));
  for (int portion = 0; portion < portions; ++portion) {
    for (int offset = 1; offset < problem.world; ++offset) {
      const iris::CopyStep rows = {.from = "a",
                                   .to = "gathered",
                                   .to_block = iris::BlockIndex::rank,
                                   .peer_offset = offset,
                                   .shape = {{"m", 1, problem.world}, {"k"}},
                                   .portion = {portion, static_cast<int>(portions), granule}};
      const iris::SignalStep signal = {
          .from = {0, 0, iris::BlockIndex::peer},
          .to = {1, first_own_flag + std::int64_t{portion} * problem.world, iris::BlockIndex::rank},
          .peer_offset = offset};
      draft.steps.emplace_back(1, rows);
      draft.steps.emplace_back(1, signal);
    }
  }
}

Draft plan_producer_consumer(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan product = start_kernel(request, "all_gather_matmul/producer_consumer.hip");
  const std::int64_t portions = decide(request, product, "portions", portions_for(request), "of each rank's rows",
                                       "as few as let products begin early: each is a copy and a flag to every peer");
  choose_tiles(request, product, copied_products(request.typical(), portions));
  choose_matmul_grid(request, product, copied_products(request.typical(), portions));
  add_types(request, product, {.result = true, .accumulate = true});
  add_flags(product, portions * problem.world);
  product.part = "matmul";

  Draft draft;
  draft.arguments = place(arguments(problem), 16, {});
  draft.intermediates = {{"gathered", problem.dtype, {{"m"}, {"k"}}}};
  product.arguments = draft.arguments;
  product.arguments.insert(product.arguments.begin() + 1, {.name = "gathered",
                                                           .access = Access::read,
                                                           .dtype = problem.dtype,
                                                           .shape = draft.intermediates[0].shape,
                                                           .alignment = 16});
  std::vector<std::string> buffers;
  buffers.reserve(product.arguments.size());
  for (const Argument& argument : product.arguments) buffers.push_back(argument.name);
  draft.kernels = {barrier_kernel(request), std::move(product)};
  draft.steps.push_back({0, launch_of(draft, 0, {})});
  draft.steps.push_back({1, iris::WaitStep{0}});
  // Before the copies that it waits for: its first tiles need none of them.
  draft.steps.push_back({0, launch_of(draft, 1, std::move(buffers))});
  add_copies(problem, draft, portions);
  draft.steps.push_back({0, iris::WaitStep{1}});
  return draft;
}

/// The rows of all ranks, as if they were one's.
Products of_rows_together(const Problem& problem) {
  return {.rows = {"m"},
          .columns = {"n"},
          .a_rows = {"m", 1, problem.world},
          .gathers_rows = true,
          .rows_together = true,
          .moves_by_blocks = true};
}

Draft plan_rows_together(const Request& request) {
  const Products products = of_rows_together(request.typical());
  KernelPlan kernel = start_kernel(request, "all_gather_matmul/rows_together.hip");
  choose_tiles(request, kernel, products);
  choose_roles(request, kernel, products, "push rows to all ranks");
  if (kernel.main_loop() == MainLoop::wgmma) {
    choose_unroll(request, kernel, 2);  // threads store them there, too
    add_number(kernel, "early_stages", kernel.number("stages"), "of B", "they have B while rows of A are on their way");
  }
  const std::int64_t blocks = kernel.number("comm_blocks");
  return plan_kernel(request, std::move(kernel), blocks, 1);
}

/// Of a kernel that multiplies meanwhile.
Work gathering(const Problem& problem, const Target& target, const KernelPlan& kernel, const Products& products) {
  return {.link_bytes = (problem.world - 1) * shard_bytes(problem),
          .memory_bytes = 2 * problem.world * shard_bytes(problem),
          .multiply_us = multiply_us(problem, target, kernel, products),
          .signals = 1};
}

std::vector<Work> cost_of_producer_consumer(const Problem& problem, const Target& target, const Draft& draft) {
  const KernelPlan& product = draft.kernels[1];
  Work work = gathering(problem, target, product, copied_products(problem, product.number("portions")));
  work.by_copy_engine = true;
  return {{.signals = 1}, work};
}

std::vector<Work> cost(const Problem& problem, const Target& target, const Draft& draft) {
  const KernelPlan& kernel = draft.kernels[0];
  return {gathering(problem, target, kernel, products(problem, has_roles(kernel)))};
}

/// Slices come in rounds, the first of which nothing hides; then products take what has come. Measured on two and on
/// four H200s; why narrow tiles take longer has not been found.
std::vector<Work> cost_of_rows_together(const Problem& problem, const Target& target, const Draft& draft) {
  constexpr double rounds = 4;             // as the template has it
  constexpr double telling_us = 2.2;       // until a round's stores have come, and it is told of
  constexpr double until_products_us = 2;  // from a flag to the stage that it lets come
  constexpr double narrow_us = 4;
  constexpr double block_gbs = 43;        // that a block stores, of its own rank's rows, too
  constexpr double longer_beside = 1.06;  // where blocks make several tiles
  const KernelPlan& kernel = draft.kernels[0];
  const int others = problem.world - 1;
  const double link_bytes = others * shard_bytes(problem);
  const double stored_gbs = block_gbs * static_cast<double>(kernel.number("comm_blocks"));
  const double gbs = std::min(target.rates.link_gbs, stored_gbs * others / problem.world);
  const double round_us = telling_us + (others > 0 ? link_bytes / rounds / gbs / 1e3 : 0);
  const Products products = of_rows_together(problem);
  const auto tiles = tiles_of(problem, products, kernel.number("tile_m"), kernel.number("tile_n"));
  const double multiplied_us =
      multiply_us(problem, target, kernel, products) * (tiles > multiplying_blocks(kernel) ? longer_beside : 1);
  const bool in_slices = kernel.main_loop() == MainLoop::wgmma;
  const double before_us = round_us + until_products_us + (kernel.number("tile_n") <= 64 ? narrow_us : 0);
  const double behind_last_us = multiplied_us / (in_slices ? rounds : 1);
  return {{.link_bytes = link_bytes,
           .memory_bytes = 2 * problem.world * shard_bytes(problem),
           .multiply_us = before_us + std::max(multiplied_us, (rounds - 1) * round_us + behind_last_us),
           .signals = 1}};
}

/// B was there before the gather began: blocks that multiply fill their stages with it beside those that gather, where
/// both fit on a compute unit. Measured on two and on four H200s, 12 shapes: up to 12 % less, but up to 13 % more where
/// some do not, since registers lack.
void load_b_early(const Request& request, Draft& draft) {
  constexpr std::int64_t widest = 96;         // products of wider tiles take over 128 registers a thread
  constexpr std::int64_t most_threads = 256;  // of lines, that take 40 registers or less
  if (draft.kernels.size() != 2) return;
  KernelPlan& gather = draft.kernels[0];
  KernelPlan& product = draft.kernels[1];
  if (product.main_loop() != MainLoop::wgmma || product.number("tile_n") > widest) return;
  if (gather.template_path != "all_gather/low_latency.hip" || gather.number("threads") > most_threads) return;
  if (gather.number("blocks") > request.target.compute_units) return;
  gather.lets_next_begin = true;
  product.dependent_launch = true;
  add_number(product, "early_stages", product.number("stages"), "of B", "they have B while A is gathered");
}

Draft plan_bulk_synchronous(const Request& request) {
  const Problem& problem = request.problem;
  const Dimension rows = {"m", 1, problem.world};
  Composition whole(request);
  whole.add_intermediate("gathered", problem.dtype, {{"m"}, {"k"}});
  whole.add({.name = "all_gather",
             .problem = {.pattern = "all_gather", .dtype = problem.dtype, .result = problem.dtype, .shard = "m"},
             .extents = {{"m", rows}, {"n", {"k"}}},
             .buffers = {{"input", "a"}, {"output", "gathered"}},
             .settings = {{"blocks", "comm_blocks"}}});
  whole.add(matmul_part(problem, "gathered", "output", problem.result));
  Draft draft = whole.take();
  load_b_early(request, draft);
  return draft;
}

constexpr std::array<std::string_view, 1> specialized = {"all_gather_matmul/workgroup_specialized.hip"};
constexpr std::array<std::string_view, 1> together = {"all_gather_matmul/rows_together.hip"};
constexpr std::array<std::string_view, 1> sequential = {"all_gather_matmul/fused_sequential.hip"};
constexpr std::array<std::string_view, 2> copied = {"barrier/same_block.hip",
                                                    "all_gather_matmul/producer_consumer.hip"};

constexpr std::array variants = {
    Variant{.name = "workgroup_specialized",
            .summary = "one grid, two roles: some blocks push rows of A, the others multiply what has arrived",
            .templates = specialized,
            .keys = role_keys,
            .plan = plan_workgroup_specialized,
            .cost = cost},
    Variant{.name = "fused_sequential",
            .summary = "blocks push rows of A, beside their products where they can, and multiply what has arrived",
            .templates = sequential,
            .keys = tile_keys,
            .plan = plan_fused_sequential,
            .cost = cost},
    Variant{
        .name = "producer_consumer",
        .summary = "copy engines bring rows of A in portions, each followed by a flag; blocks multiply what has come",
        .templates = copied,
        .keys = portion_keys,
        .plan = plan_producer_consumer,
        .cost = cost_of_producer_consumer},
    Variant{.name = "rows_together",
            .summary = "some blocks push rows of A to all ranks, the others multiply those of all ranks as one matrix",
            .templates = together,
            .keys = role_keys,
            .plan = plan_rows_together,
            .cost = cost_of_rows_together},
    Variant{.name = "bulk_synchronous",
            .summary = "an all_gather of A, then a matmul",
            .templates = {},
            .keys = role_keys,
            .plan = plan_bulk_synchronous,
            .cost = cost_of_parts},
};

/// Tolerance: product_error() and the last rounding.
std::vector<Expectation> reference(const Problem& problem, const std::vector<std::vector<Values>>& inputs) {
  const std::int64_t n = problem.extent("n").value;
  const std::int64_t k = problem.extent("k").value;
  Values gathered;
  for (const auto& of_rank : inputs) gathered.insert(gathered.end(), of_rank[0].begin(), of_rank[0].end());
  std::vector<Expectation> expectations;
  for (const auto& of_rank : inputs) {
    // Ranks that share one B, and scales, share the whole result.
    if (!expectations.empty() && std::equal(of_rank.begin() + 1, of_rank.end(), inputs[0].begin() + 1)) {
      expectations.push_back(expectations[0]);
      continue;
    }
    const std::int64_t m = problem.extent("m").value;
    Product product(m * n);
    multiply_into(product, problem, gathered.data(), of_rank, m, k, n);
    expectations.push_back(expect_product(product, problem));
  }
  return expectations;
}

}  // namespace

extern const Pattern all_gather_matmul = {
    .name = "all_gather_matmul",
    .summary = "A(m/world,k), B(k,n) -> (m,n): the rows of A of all ranks, times this rank's B",
    .variants = variants,
    .arguments = arguments,
    .check = check_rows,
    .reference = reference,
    .product = whole_product,
};

}  // namespace irisgen
