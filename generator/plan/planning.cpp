#include "generator/plan/planning.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace irisgen {
namespace {

constexpr const char* fibers_interleave = "fibers, enough to interleave";

/// Blocks of so many threads that are resident together, as far as that is known before compiling: the launch asks the
/// driver, this catches the hopeless early.
std::int64_t resident_blocks(const Target& target, const KernelPlan& kernel) {
  if (target.platform == Platform::host) return target.max_blocks;
  if (fills_compute_unit(kernel)) return target.compute_units;
  return target.compute_units * (target.max_threads / kernel.number("threads"));
}

void check_threads(const Request& request, std::int64_t threads) {
  const Target& target = request.target;
  if (threads >= 1 && threads <= target.max_threads && threads % target.wave == 0) return;
  const std::string waves = target.wave > 1 ? ", a multiple of " + std::to_string(target.wave) : "";
  refuse(request, "threads",
         "blocks of " + std::to_string(threads) + " threads; threads must be from " + std::to_string(target.wave) +
             " to " + std::to_string(target.max_threads) + waves);
}

}  // namespace

std::optional<int> Request::wanted(std::string_view key) const {
  const auto setting = config.find(key);
  if (setting == config.end()) return std::nullopt;
  return setting->second.value;
}

Prediction predict(const Target& target, int world, const std::vector<Work>& works) {
  Prediction prediction;
  double link_bytes = 0;
  for (const Work& work : works) {
    link_bytes += work.link_bytes;
    const double link_gbs = work.by_copy_engine  ? target.rates.copy_engine_gbs
                            : work.over_one_link ? target.rates.neighbour_gbs
                                                 : target.rates.link_gbs;
    const double link_us =
        (work.link_bytes + work.fill_bytes) / (link_gbs * work.of_links) / 1e3;  // GB/s are bytes per nanosecond
    const double memory_us = work.memory_bytes / target.rates.memory_gbs / 1e3;
    const double arrived_us = work.arrived_bytes / target.rates.memory_gbs / 1e3;
    const double floor_us = std::max({link_us, memory_us, work.multiply_us, work.summing_us}) + arrived_us;
    prediction.floor_us += floor_us;
    prediction.time_us += (work.by_copy_engine ? target.rates.copy_us : target.rates.launch_us) +
                          (world > 1 ? work.signals * target.rates.signal_us + work.lines * target.rates.line_us : 0) +
                          work.behind_us + floor_us;
  }
  prediction.link_bytes = static_cast<std::int64_t>(link_bytes);
  prediction.basis =
      std::string(target.name) + (target.measured ? ": rates measured" : ": rates that the vendor publishes");
  return prediction;
}

void refuse(const Request& request, std::string_view key, const std::string& message) {
  Report report("kernel '" + request.spec.name + "' for " + std::string(request.target.name), "");
  const auto setting = request.config.find(key);
  const Position config = request.spec.where.config;
  const Position kernel = config.line != 0 ? config : request.spec.where.kernel;
  report.error(setting == request.config.end() ? kernel : setting->second.where, message);
  throw SpecError(std::move(report));
}

KernelPlan start_local_kernel(const Request& request, std::string_view template_path) {
  KernelPlan kernel;
  kernel.problem = request.problem;
  kernel.variant = request.variant;
  kernel.template_path = template_path;
  kernel.waits = false;
  kernel.waits_for_ranks = false;
  return kernel;
}

KernelPlan start_kernel(const Request& request, std::string_view template_path) {
  KernelPlan kernel = start_local_kernel(request, template_path);
  kernel.waits = true;
  kernel.waits_for_ranks = true;
  add_number(kernel, "world", request.problem.world, "", "");
  return kernel;
}

KernelPlan barrier_kernel(const Request& request) {
  const Problem& problem = request.problem;
  KernelPlan barrier = start_kernel(request, "barrier/same_block.hip");
  add_number(barrier, "blocks", 1, "", "");
  add_number(barrier, "threads", request.target.wave, "", "");
  bound_grid(request, barrier);
  add_flags(barrier);
  barrier.part = "barrier";
  barrier.problem = {
      .pattern = std::string(barrier_pattern), .dtype = problem.dtype, .result = problem.dtype, .world = problem.world};
  return barrier;
}

std::int64_t decide(const Request& request, KernelPlan& kernel, const std::string& name, std::int64_t value,
                    std::string unit, std::string reason) {
  const auto wanted = request.config.find(name);
  if (wanted != request.config.end()) {
    value = wanted->second.value;
    reason = wanted->second.by == Setting::By::measurement ? "measured to be best" : "set in config";
  }
  kernel.constants.push_back({name, value, std::move(unit), std::move(reason), name});
  return value;
}

void add_number(KernelPlan& kernel, const std::string& name, std::int64_t value, std::string unit, std::string reason) {
  kernel.constants.push_back({name, value, std::move(unit), std::move(reason)});
}

void add_types(const Request& request, KernelPlan& kernel, const Types& types) {
  const Problem& problem = request.problem;
  kernel.constants.push_back({"Element", problem.dtype, "", ""});
  if (types.result) kernel.constants.push_back({"Result", problem.result, "", ""});
  if (types.accumulate) kernel.constants.push_back({"Accumulate", problem.accumulate, "", ""});
  if (types.operation && problem.op) kernel.constants.push_back({"Operation", *problem.op, "", ""});
}

int choose_vector_of(const Request& request, KernelPlan& kernel, std::int64_t bytes, Dtype widest,
                     std::optional<std::int64_t> run) {
  const std::int64_t run_length = run.value_or(0);  // every vector divides 0
  const int most = static_cast<int>(bytes / iris::bytes_of(widest));
  int fitting = most;
  while (run_length % fitting != 0) fitting /= 2;
  const auto wanted = request.wanted("vector");
  if (wanted && *wanted > most) {
    refuse(request, "vector",
           "a vector of " + std::to_string(*wanted) + " " + std::string(to_string(widest)) + " is more than " +
               std::to_string(bytes) + " bytes; write " + std::to_string(most) + " at most");
  }
  if (wanted && *wanted > fitting) {
    refuse(request, "vector",
           "a vector of " + std::to_string(*wanted) + " does not divide runs of " + std::to_string(run_length) +
               " elements, which would be unaligned; write " + std::to_string(fitting) + " at most");
  }
  const int chosen = std::min(fitting, request.target.most_in_access);
  std::string reason =
      std::to_string(chosen * iris::bytes_of(widest)) + " bytes of " + std::string(to_string(widest)) + " in an access";
  if (fitting < most) {
    reason += ": " + std::to_string(run_length) + " is not a multiple of " + std::to_string(2 * fitting);
  } else if (chosen < fitting) {
    reason += ": hiprtc 5 cannot keep more elements of an access in registers";
  }
  return static_cast<int>(decide(request, kernel, "vector", chosen, "elements in one access", std::move(reason)));
}

int choose_vector(const Request& request, KernelPlan& kernel, Dtype widest, std::optional<std::int64_t> run) {
  return choose_vector_of(request, kernel, access_bytes, widest, run);
}

std::int64_t decide_blocks(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements,
                           std::int64_t block_takes, std::int64_t of_links, std::string reason, std::int64_t roles) {
  const Target& target = request.target;
  const std::int64_t most = request.on_host()
                                ? target.data_blocks
                                : std::min<std::int64_t>(of_links * target.data_blocks, target.compute_units);
  const std::int64_t takes = std::max<std::int64_t>(1, block_takes);
  const std::int64_t needed = elements ? roles * divide_up(*elements, takes) : most;
  if (elements) {
    reason = std::to_string(*elements) + " elements a rank, " + std::to_string(takes) + " a block and iteration";
    if (roles > 1) reason += " in each of " + std::to_string(roles) + " roles";
  }
  return decide(request, kernel, "blocks", std::clamp<std::int64_t>(needed, roles, most), "", std::move(reason));
}

void decide_grid(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements, int vector,
                 std::int64_t of_links) {
  const std::int64_t threads = decide(request, kernel, "threads", request.target.threads, "",
                                      request.on_host() ? fibers_interleave : "hides memory latency");
  decide_blocks(request, kernel, elements, threads * vector, of_links,
                "known only at launch: as many as keep the links busy");
}

void choose_grid(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements, int vector,
                 std::int64_t of_links) {
  decide_grid(request, kernel, elements, vector, of_links);
  bound_grid(request, kernel);
}

void choose_grid_of_pushes(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements,
                           int vector) {
  // From there on, on two and four H200s and H100s, twice as many blocks are 2 to 9 % faster: the tuning tables' own.
  constexpr std::int64_t long_bytes = 8 << 20;
  const bool is_long = elements && *elements * iris::bytes_of(request.problem.dtype) >= long_bytes;
  choose_grid(request, kernel, elements, vector, is_long ? 2 : 1);
}

void choose_local_grid(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements,
                       const LocalGrid& grid) {
  const Target& target = request.target;
  const bool on_host = request.on_host();
  const std::int64_t most = on_host ? target.data_blocks : target.compute_units * grid.blocks_of_unit;
  const std::int64_t needed = elements ? divide_up(*elements, grid.block_takes) : most;
  add_number(kernel, "threads", on_host ? target.threads : grid.threads, "",
             on_host ? fibers_interleave : grid.why_threads);
  add_number(kernel, "blocks", std::clamp<std::int64_t>(needed, 1, most), "",
             needed < most ? "one for each " + std::to_string(grid.block_takes) + " elements" : grid.why_blocks);
  bound_grid(request, kernel);
}

bool fills_compute_unit(const KernelPlan& kernel) {
  return kernel.main_loop().value_or(MainLoop::fma) != MainLoop::fma;
}

void bound_grid(const Request& request, KernelPlan& kernel) {
  const Target& target = request.target;
  const std::int64_t threads = kernel.number("threads");
  const std::int64_t blocks = kernel.number("blocks");
  check_threads(request, threads);
  const std::int64_t most = kernel.waits ? resident_blocks(target, kernel) : target.max_blocks;
  if (blocks < 1 || blocks > most) {
    refuse(request, "blocks",
           std::to_string(blocks) + " blocks of " + std::to_string(threads) + " threads are " +
               (kernel.waits ? "not resident together" : "too many") + "; write from 1 to " + std::to_string(most) +
               " blocks");
  }
  if (target.platform == Platform::host) return;
  const std::int64_t per_unit = kernel.waits ? divide_up(blocks, target.compute_units) : 1;
  if (target.platform == Platform::nvidia) {
    add_number(kernel, "min_blocks_per_sm", per_unit, "", "");
  } else {
    add_number(kernel, "waves_per_eu", divide_up(per_unit * threads, std::int64_t{target.simds} * target.wave), "", "");
  }
}

void check_comm_blocks(const Request& request, const KernelPlan& kernel, const std::string& role,
                       const std::string& rest) {
  const std::int64_t blocks = kernel.number("blocks");
  const std::int64_t comm_blocks = kernel.number("comm_blocks");
  if (comm_blocks >= 1 && comm_blocks < blocks) return;
  const std::string limit =
      blocks == 1 ? "; write blocks: 2 or more" : "; comm_blocks must be from 1 to " + std::to_string(blocks - 1);
  refuse(request, blocks == 1 ? "blocks" : "comm_blocks",
         std::to_string(comm_blocks) + " of " + std::to_string(blocks) + (blocks == 1 ? " block " : " blocks ") + role +
             limit + ", so that some are left to " + rest);
}

void choose_unroll(const Request& request, KernelPlan& kernel, int arrays, std::string unit, std::int64_t useful) {
  // In such a kernel few threads of a compute unit move data, and they have registers to spare.
  const bool few_threads = kernel.main_loop() == MainLoop::wgmma;
  const int packs_in_flight = few_threads ? 16 : 8;
  const int most = static_cast<int>(std::min<std::int64_t>(few_threads ? packs_in_flight : 4, useful));
  const int unroll = request.on_host() ? 1 : std::clamp(packs_in_flight / arrays, 1, most);
  add_number(kernel, "unroll", unroll, std::move(unit),
             request.on_host() ? "nothing to overlap on the CPU"
                               : std::to_string(unroll * arrays) + " loads of a thread in flight together");
}

void add_flags(KernelPlan& kernel, std::int64_t own) {
  kernel.flags = kernel.number("blocks") * kernel.number("world") + own;
}

iris::ByteSize workspace_of(const Problem& problem, int slots, const std::vector<Dimension>& shape, Dtype dtype,
                            int alignment) {
  const std::int64_t bytes = iris::bytes_of(dtype);
  if (const auto elements = static_count(problem, shape)) {
    return {
        .terms = {{2 * round_up(std::int64_t{slots} * round_up(*elements, alignment) * bytes, heap_alignment), {}}}};
  }
  std::int64_t scale = 2 * std::int64_t{slots} * bytes;
  std::int64_t divisor = 1;
  std::vector<std::string> dynamic;
  for (const Dimension& dimension : shape) {
    const iris::Extent& extent = problem.extent(dimension.extent);
    if (extent.dynamic) {
      dynamic.push_back(dimension.extent);
    } else {
      scale *= extent.value;
    }
    scale *= dimension.factor;
    divisor *= dimension.divisor;
  }
  const std::int64_t padding = bytes * slots * alignment + heap_alignment;
  return {.terms = {{2 * round_up(padding, heap_alignment), {}}, {divide_up(scale, divisor), std::move(dynamic)}}};
}

std::optional<std::int64_t> static_count(const Problem& problem, const std::vector<Dimension>& shape) {
  std::int64_t count = 1;
  for (const Dimension& dimension : shape) {
    const auto length = static_length(problem, dimension);
    if (!length) return std::nullopt;
    count *= *length;
  }
  return count;
}

iris::Extent extent_of(const Problem& problem, const Dimension& dimension) {
  if (const auto known = static_length(problem, dimension)) return {.value = *known};
  const std::int64_t multiple = problem.extent(dimension.extent).multiple * dimension.factor;
  const std::int64_t divided = multiple % dimension.divisor == 0 ? multiple / dimension.divisor : 1;
  return {.dynamic = true, .multiple = divided % dimension.multiple == 0 ? divided : dimension.multiple};
}

double length(const Problem& problem, std::string_view extent) {
  return static_cast<double>(problem.extent(extent).value);
}

double bytes_of_elements(const Problem& problem) {
  return length(problem, "m") * length(problem, "n") * static_cast<double>(iris::bytes_of(problem.dtype));
}

std::vector<Argument> place(std::vector<Argument> arguments, int alignment,
                            std::initializer_list<std::string_view> symmetric) {
  for (Argument& argument : arguments) {
    argument.alignment = argument.shape.empty() ? static_cast<int>(iris::bytes_of(argument.dtype)) : alignment;
    argument.symmetric = std::ranges::find(symmetric, argument.name) != symmetric.end();
  }
  return arguments;
}

Draft draft_of(KernelPlan kernel, InPlace in_place) {
  Draft draft;
  draft.arguments = kernel.arguments;
  draft.in_place = in_place;
  std::vector<std::string> buffers;
  buffers.reserve(kernel.arguments.size());
  for (const Argument& argument : kernel.arguments) buffers.push_back(argument.name);
  draft.kernels.push_back(std::move(kernel));
  draft.steps = {{.stream = 0, .action = launch_of(draft, 0, std::move(buffers))}};
  return draft;
}

iris::LaunchStep launch_of(const Draft& draft, int kernel, std::vector<std::string> buffers) {
  iris::LaunchStep launch{.kernel = kernel, .buffers = std::move(buffers)};
  for (const std::string& name : draft.kernels.at(static_cast<std::size_t>(kernel)).problem.dynamic_extents()) {
    launch.extents.push_back({name});
  }
  launch.maps = draft.kernels.at(static_cast<std::size_t>(kernel)).maps;
  launch.tiles = draft.kernels.at(static_cast<std::size_t>(kernel)).tiles;
  return launch;
}

void number_kernels(iris::Step& step, std::span<const int> numbers) {
  const auto set = [&](int& kernel) { kernel = numbers[static_cast<std::size_t>(kernel)]; };
  if (auto* launch = std::get_if<iris::LaunchStep>(&step.action)) set(launch->kernel);
  if (auto* signal = std::get_if<iris::SignalStep>(&step.action)) {
    set(signal->from.kernel);
    set(signal->to.kernel);
  }
}

std::string microseconds(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return std::string(text.data()) + " µs";
}

}  // namespace irisgen
