#include "generator/plan/portions.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "generator/plan/compose.hpp"

namespace irisgen {
namespace {

/// Number of the product among the kernels of both operations, behind the barrier.
constexpr int product_number = 1;

/// Rows of a rank.
Dimension block_rows(const Problem& problem) {
  return {"m", 1, problem.world};
}

/// Of a rank, in the output.
double block_bytes(const Problem& problem) {
  return matrix_bytes(problem, {block_rows(problem), {"n"}}, problem.result);
}

/// What all launches multiply together, of a matrix A of so many blocks.
Products products(const Problem& problem, int blocks) {
  return {.rows = block_rows(problem),
          .columns = {"n"},
          .count = blocks,
          .a_rows = {"m", 1, blocks > 1 ? 1 : problem.world},
          .leaves_by_copy_engine = true};
}

/// From the first launch to the last copy, of a static problem: launches follow one another, and so do the copies, each
/// behind what it carries. What stays on this rank comes last, beside copies. Blocks of a launch begin as those of the
/// one before end, each with empty stages.
double portions_us(const Problem& problem, const Target& target, KernelPlan product, int blocks,
                   std::int64_t portions) {
  const auto count = static_cast<double>(portions);
  const double one_copy_us = target.rates.copy_us + block_bytes(problem) / count / target.rates.copy_engine_gbs / 1e3;
  const std::int64_t launches = blocks > 1 ? portions * problem.world : portions;
  const auto grid = std::ranges::find(product.constants, "blocks", &Constant::name);
  grid->value = launches * product.number("blocks");  // beside one another, as many as there is room for
  const double product_us = multiply_us(problem, target, product, products(problem, blocks));
  const double launch_us = target.rates.launch_us + product_us / static_cast<double>(launches);
  const int others = problem.world - 1;
  const double sent_launches = blocks > 1 ? count * others : count;
  const double copies_us = blocks > 1 ? one_copy_us : one_copy_us * others;  // of a launch
  return std::max({static_cast<double>(launches) * launch_us, launch_us + sent_launches * copies_us,
                   sent_launches * launch_us + copies_us});
}

/// Until what waits for all streams begins. Measured on two H200s.
double joining_us(const Target& target) {
  return target.measured ? 7 : 0;
}

/// Those that take the least time, by the model. Of the kernel all but the grid is decided.
std::int64_t best_portions(const Request& request, KernelPlan product, int blocks) {
  constexpr std::int64_t most_sent = 8;  // launches, each of which costs the host some microseconds
  const Problem& problem = request.typical();
  const std::int64_t ranks = blocks > 1 ? blocks - 1 : 1;  // that they go to in turn
  const std::int64_t most = std::max<std::int64_t>(1, most_sent / ranks);
  if (request.on_host() || !problem.is_static()) return std::min<std::int64_t>(most, 3);
  choose_matmul_grid(request, product, products(problem, blocks));
  std::int64_t best = 1;
  double best_us = std::numeric_limits<double>::infinity();
  for (std::int64_t portions = 1; portions <= most; ++portions) {
    const double us = portions_us(problem, request.target, product, blocks, portions);
    if (us >= best_us) continue;
    best = portions;
    best_us = us;
  }
  return best;
}

/// A kernel of which every launch is told the number of its portion, behind the extents.
KernelPlan product_kernel(const Request& request, int blocks) {
  const Problem& problem = request.problem;
  KernelPlan product = start_local_kernel(request, portion_templates[1]);
  product.part = "matmul";
  add_number(product, "world", problem.world, "", "");
  add_number(product, "input_shards", blocks, "", "");
  choose_tiles(request, product, products(request.typical(), blocks));
  const std::int64_t portions =
      decide(request, product, "portions", best_portions(request, product, blocks), "of each rank's rows",
             "each is a launch and copies, which the next launch hides");
  Products of_launch = products(problem, blocks);
  of_launch.rows.divisor *= portions;
  of_launch.count = 1;
  choose_matmul_grid(request, product, of_launch);
  launch_blocks_with_tiles(request, product, of_launch);
  add_types(request, product, {.result = true, .accumulate = true});
  product.arguments = place(pattern_of(problem).arguments(problem), 16, {});
  product.arguments.back().shape = {{"m"}, {"n"}};
  product.launch_number = "portion";
  return product;
}

/// Writes the steps of such an operation: stream 1 has the copies, and the products take turns in streams 0 and 2, so
/// that the blocks of the next one begin wherever those of the one before leave a compute unit.
class PortionSteps {
 public:
  /// Nothing may go to a peer before it has ended the launch before: all meet in the stream of the copies, beside the
  /// first product.
  PortionSteps(const Problem& problem, Draft& draft) : problem_(problem), draft_(draft) {
    draft_.steps = {{1, iris::WaitStep{0}}, {1, launch_of(draft_, 0, {})}, {2, iris::WaitStep{0}}};
  }

  /// The product of a portion, into a buffer of m rows.
  void multiply(std::int64_t portion, const std::string& output) {
    std::vector<std::string> buffers;
    for (const Argument& argument : product().arguments)
      buffers.push_back(argument.name == "output" ? output : argument.name);
    iris::LaunchStep launch = launch_of(draft_, product_number, std::move(buffers));
    launch.extents.push_back({.offset = portion});
    draft_.steps.push_back({next_stream_, std::move(launch)});
    next_stream_ = 2 - next_stream_;
  }

  /// Copies, once this is done, what the last product has made, to this rank's block there.
  void copy(std::int64_t portion, std::vector<iris::CopyStep> copies) {
    draft_.steps.push_back({1, iris::WaitStep{2 - next_stream_}});
    for (iris::CopyStep& copy : copies) {
      copy.to_block = iris::BlockIndex::rank;
      copy.shape = {block_rows(problem_), {"n"}};
      copy.portion = {static_cast<int>(portion), static_cast<int>(product().number("portions")),
                      static_cast<int>(product().number("tile_m"))};
      draft_.steps.emplace_back(1, std::move(copy));
    }
  }

  /// Behind all of them.
  void finish(int kernel, std::vector<std::string> buffers) {
    draft_.steps.push_back({0, iris::WaitStep{1}});
    draft_.steps.push_back({0, iris::WaitStep{2}});
    draft_.steps.push_back({0, launch_of(draft_, kernel, std::move(buffers))});
  }

 private:
  const KernelPlan& product() const { return draft_.kernels[product_number]; }

  const Problem& problem_;
  Draft& draft_;
  int next_stream_ = 0;
};

KernelPlan sum_kernel(const Request& request, const Argument& arrived, const Argument& output) {
  const SettingNames names = {{"blocks", "comm_blocks"}};
  const Settings settings = settings_of_part(request.config, names);
  const Request own = {request.spec, request.problem, request.target, settings, request.variant, request.launches};
  const Problem& problem = request.problem;
  KernelPlan kernel =
      start_kernel(own, output.symmetric ? summed_for_all_templates.back() : summed_portion_templates.back());
  kernel.part = "sum";
  const auto count = static_count(problem, {block_rows(problem), {"n"}});
  const int vector = choose_vector(own, kernel, problem.result, count);
  choose_grid(own, kernel, count, vector);
  choose_unroll(own, kernel, problem.world, "accesses in flight for each rank");
  kernel.constants.push_back({"Element", problem.result, "", ""});
  kernel.constants.push_back({"Result", problem.result, "", ""});
  kernel.constants.push_back({"Accumulate", problem.accumulate, "", ""});
  add_flags(kernel);
  kernel.arguments = {arrived, output};
  rename_settings(kernel, names);
  return kernel;
}

}  // namespace

Draft plan_portions_for_all(const Request& request) {
  const Problem& problem = request.problem;
  Draft draft;
  draft.kernels = {barrier_kernel(request), product_kernel(request, 1)};
  draft.arguments = place(pattern_of(problem).arguments(problem), 16, {"output"});
  PortionSteps steps(problem, draft);
  for (std::int64_t portion = 0; portion < draft.kernels[product_number].number("portions"); ++portion) {
    steps.multiply(portion, "output");
    std::vector<iris::CopyStep> copies;
    for (int offset = 1; offset < problem.world; ++offset)
      copies.push_back({.from = "output", .from_block = iris::BlockIndex::rank, .to = "output", .peer_offset = offset});
    steps.copy(portion, std::move(copies));
  }
  steps.finish(0, {});
  return draft;
}

std::vector<Work> cost_of_portions_for_all(const Problem& problem, const Target& target, const Draft& draft) {
  const KernelPlan& product = draft.kernels[product_number];
  return {{.link_bytes = (problem.world - 1) * block_bytes(problem),
           .memory_bytes = (problem.world + 1) * block_bytes(problem),
           .multiply_us = portions_us(problem, target, product, 1, product.number("portions"))},
          {.signals = 1, .behind_us = joining_us(target)}};
}

Draft plan_summed_portions(const Request& request) {
  const Problem& problem = request.problem;
  const std::vector<Dimension> all = {{"m"}, {"n"}};
  Draft draft;
  draft.arguments = place(pattern_of(problem).arguments(problem), 16, {pattern_of(problem).replicates ? "output" : ""});
  draft.intermediates = {{.name = "products", .dtype = problem.result, .shape = all, .symmetric = false},
                         {.name = "arrived", .dtype = problem.result, .shape = all}};
  const Argument arrived = {.name = "arrived",
                            .access = Access::read,
                            .dtype = problem.result,
                            .shape = all,
                            .symmetric = true,
                            .alignment = 16};
  draft.kernels = {barrier_kernel(request), product_kernel(request, problem.world),
                   sum_kernel(request, arrived, draft.arguments.back())};
  PortionSteps steps(problem, draft);
  const std::int64_t portions = draft.kernels[product_number].number("portions");
  for (int offset = 1; offset < problem.world; ++offset) {
    for (std::int64_t portion = 0; portion < portions; ++portion) {
      steps.multiply(offset * portions + portion, "products");
      steps.copy(portion,
                 {{.from = "products", .from_block = iris::BlockIndex::peer, .to = "arrived", .peer_offset = offset}});
    }
  }
  for (std::int64_t portion = 0; portion < portions; ++portion) steps.multiply(portion, "arrived");
  steps.finish(2, {"arrived", "output"});
  return draft;
}

std::vector<Work> cost_of_summed_portions(const Problem& problem, const Target& target, const Draft& draft, Work sums) {
  sums.behind_us = joining_us(target);
  const KernelPlan& product = draft.kernels[product_number];
  return {{.link_bytes = (problem.world - 1) * block_bytes(problem),
           .memory_bytes = 2 * problem.world * block_bytes(problem),
           .multiply_us = portions_us(problem, target, product, problem.world, product.number("portions"))},
          sums};
}

}  // namespace irisgen
