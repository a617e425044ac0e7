#include "generator/plan/planning.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace irisgen {
namespace {

constexpr int access_bytes = 16;

constexpr int gpu_threads = 512;
constexpr int host_threads = 32;

/// 64 blocks of 512 threads keep the links busy; more only add flags.
constexpr int most_gpu_blocks = 64;
/// A block's threads are fibers here: few blocks show every interleaving that many do.
constexpr int most_host_blocks = 4;
/// Beyond this the engine's stacks take more memory than the data.
constexpr int host_block_limit = 64;

struct ConfigKey {
  std::string_view name;
  std::optional<int> ConfigSpec::* field;
};
constexpr std::array config_keys = {
    ConfigKey{"blocks", &ConfigSpec::blocks},
    ConfigKey{"threads", &ConfigSpec::threads},
    ConfigKey{"vector", &ConfigSpec::vector},
    ConfigKey{"timeout_ms", &ConfigSpec::timeout_ms},
    ConfigKey{"comm_blocks", &ConfigSpec::comm_blocks},
    ConfigKey{"tile_m", &ConfigSpec::tile_m},
    ConfigKey{"tile_n", &ConfigSpec::tile_n},
    ConfigKey{"tile_k", &ConfigSpec::tile_k},
    ConfigKey{"chunk", &ConfigSpec::chunk},
};
constexpr std::size_t keys_of_every_pattern = 4;

bool on_host(const Plan& plan) {
  return plan.target->platform == Platform::host;
}

Position config_place(const KernelSpec& kernel) {
  return kernel.config.where.line != 0 ? kernel.config.where : kernel.where;
}

std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

void check_config(const KernelSpec& kernel, Report& report, std::initializer_list<std::string_view> used) {
  std::string words;
  for (std::size_t i = 0; i < keys_of_every_pattern; ++i) words += std::string(config_keys[i].name) + ", ";
  for (const std::string_view key : used) words += std::string(key) + ", ";
  words.resize(words.size() - 2);
  for (std::size_t i = keys_of_every_pattern; i < config_keys.size(); ++i) {
    const ConfigKey& key = config_keys[i];
    if (!(kernel.config.*key.field) || std::ranges::find(used, key.name) != used.end()) continue;
    std::string message(kernel.pattern->name);
    if (kernel.variant != "auto") message += " (" + kernel.variant + ")";
    message.append(" does not use '").append(key.name).append("'; it uses ").append(words);
    report.error(config_place(kernel), std::move(message));
  }
  const auto vector = kernel.config.vector;
  if (vector && (*vector < 1 || (*vector & (*vector - 1)) != 0)) {
    report.error(config_place(kernel), "vector is " + std::to_string(*vector) + "; write a power of two");
  }
}

void check_variant(const KernelSpec& kernel, Report& report) {
  std::vector<std::string_view> names = {"auto"};
  for (const Variant& variant : kernel.pattern->variants) names.push_back(variant.name);
  if (std::ranges::find(names, kernel.variant) != names.end()) return;
  report.error(kernel.variant_where, "unknown variant '" + kernel.variant + "' for " +
                                         std::string(kernel.pattern->name) + suggestion(kernel.variant, names));
}

std::string_view operation_name(Op op) {
  switch (op) {
    case Op::sum:
      return "Sum";
    case Op::max:
      return "Max";
    case Op::min:
      return "Min";
    case Op::prod:
      return "Prod";
  }
  return "";
}

}  // namespace

void check_variant_and_config(const KernelSpec& kernel, Report& report, std::initializer_list<std::string_view> used) {
  check_variant(kernel, report);
  check_config(kernel, report, used);
}

void refuse(const Plan& plan, const std::string& message) {
  Report report("kernel '" + plan.kernel.name + "' for " + std::string(plan.target->name), "");
  report.error(config_place(plan.kernel), message);
  throw SpecError(std::move(report));
}

std::string reason_for(const std::optional<int>& chosen, std::string fallback) {
  return chosen ? "set in config" : std::move(fallback);
}

void decide(Plan& plan, const std::string& name, std::int64_t value, std::string reason) {
  plan.substitutions[name] = std::to_string(value);
  plan.choices.push_back({name, std::to_string(value), std::move(reason)});
}

const Variant& variant_of(const KernelSpec& kernel) {
  const auto& variants = kernel.pattern->variants;
  const auto found = std::ranges::find(variants, std::string_view(kernel.variant), &Variant::name);
  return found == variants.end() ? variants.front() : *found;
}

void use_variant(Plan& plan, const Variant& variant, std::string reason) {
  plan.variant = variant.name;
  plan.template_path = variant.template_path;
  plan.choices.push_back({"variant", plan.variant, std::move(reason)});
}

std::optional<std::int64_t> static_count(const KernelSpec& kernel) {
  if (kernel.m.dynamic || kernel.n.dynamic) return std::nullopt;
  return kernel.m.value * kernel.n.value;
}

int choose_vector(Plan& plan, Dtype widest, std::optional<std::int64_t> run) {
  const std::int64_t run_length = run.value_or(0);  // every vector divides 0
  const int most = static_cast<int>(access_bytes / bytes_of(widest));
  int fitting = most;
  while (run_length % fitting != 0) fitting /= 2;
  const auto& wanted = plan.kernel.config.vector;
  if (wanted && *wanted > most) {
    refuse(plan, "a vector of " + std::to_string(*wanted) + " " + std::string(to_string(widest)) +
                     " is more than 16 bytes; write " + std::to_string(most) + " at most");
  }
  if (wanted && *wanted > fitting) {
    refuse(plan, "a vector of " + std::to_string(*wanted) + " does not divide runs of " + std::to_string(run_length) +
                     " elements, which would be unaligned; write " + std::to_string(fitting) + " at most");
  }
  const int vector = wanted.value_or(fitting);
  std::string reason =
      std::to_string(vector * bytes_of(widest)) + " bytes of " + std::string(to_string(widest)) + " in an access";
  if (fitting < most) reason += ": " + std::to_string(run_length) + " is no multiple of " + std::to_string(2 * fitting);
  decide(plan, "vector", vector, reason_for(wanted, std::move(reason)));
  return vector;
}

void choose_grid(Plan& plan, std::optional<std::int64_t> elements, int vector) {
  const ConfigSpec& config = plan.kernel.config;
  const bool host = on_host(plan);
  plan.threads = config.threads.value_or(host ? host_threads : gpu_threads);
  plan.choices.push_back({"threads", std::to_string(plan.threads),
                          reason_for(config.threads, host ? "fibers, enough to interleave" : "hides memory latency")});
  const std::int64_t most = host ? most_host_blocks : std::min(most_gpu_blocks, plan.target->compute_units);
  const std::int64_t block_takes = std::max<std::int64_t>(1, std::int64_t{plan.threads} * vector);
  const std::int64_t needed = elements ? (*elements + block_takes - 1) / block_takes : most;
  plan.blocks = config.blocks.value_or(static_cast<int>(std::clamp<std::int64_t>(needed, 1, most)));
  std::string reason = "known only at launch: as many as keep the links busy";
  if (elements) {
    reason = std::to_string(*elements) + " elements a rank, " + std::to_string(block_takes) + " a block and turn";
  }
  plan.choices.push_back({"blocks", std::to_string(plan.blocks), reason_for(config.blocks, std::move(reason))});
  check_grid(plan);
}

void check_grid(const Plan& plan) {
  const Target& target = *plan.target;
  if (plan.threads < 1 || plan.threads > target.max_threads || plan.threads % target.wave != 0) {
    const std::string waves = target.wave > 1 ? ", a multiple of " + std::to_string(target.wave) : "";
    refuse(plan, "blocks of " + std::to_string(plan.threads) + " threads; threads must be from " +
                     std::to_string(target.wave) + " to " + std::to_string(target.max_threads) + waves);
  }
  // Blocks wait for one another, so all must be resident; the launch asks the driver, this catches the hopeless early.
  const int resident = on_host(plan) ? host_block_limit : target.compute_units * (target.max_threads / plan.threads);
  if (plan.blocks < 1 || plan.blocks > resident) {
    refuse(plan, std::to_string(plan.blocks) + " blocks of " + std::to_string(plan.threads) +
                     " threads are not resident together; write from 1 to " + std::to_string(resident) + " blocks");
  }
}

void choose_unroll(Plan& plan, int arrays) {
  constexpr int packs_in_flight = 8;
  const int unroll = on_host(plan) ? 1 : std::clamp(packs_in_flight / arrays, 1, 4);
  decide(plan, "unroll", unroll,
         on_host(plan) ? "nothing to overlap on the CPU"
                       : std::to_string(unroll * arrays) + " loads of a thread in flight together");
}

void choose_reduction(Plan& plan) {
  plan.substitutions["accumulate"] = to_string(plan.kernel.accumulate);
  plan.substitutions["op"] = operation_name(plan.kernel.op);
}

WorkspaceSize workspace_of(const Plan& plan, const Slots& slots) {
  constexpr std::int64_t half_alignment = 256;
  std::int64_t elements = 1;
  std::string dynamic;
  for (const char name : slots.extents) {
    const Extent& extent = name == 'm' ? plan.kernel.m : name == 'n' ? plan.kernel.n : plan.kernel.k;
    if (extent.dynamic) {
      dynamic += name;
    } else {
      elements *= extent.value;
    }
  }
  const std::int64_t bytes = bytes_of(slots.dtype);
  if (dynamic.empty()) {
    const std::int64_t slot = round_up(elements / slots.divisor, slots.granule);
    return {.fixed = 2 * round_up(slots.parts * slot * bytes, half_alignment), .scale = 0, .extents = {}};
  }
  // parts / divisor is a whole number: every part is one rank's share, or everything.
  const std::int64_t padding = bytes * slots.parts * slots.granule + half_alignment;
  return {.fixed = 2 * round_up(padding, half_alignment),
          .scale = 2 * elements * bytes * slots.parts / slots.divisor,
          .extents = dynamic};
}

Prediction predict(const Target& target, const Work& work) {
  Prediction prediction;
  prediction.link_bytes = static_cast<std::int64_t>(work.link_bytes);
  if (target.link_gbs == 0) {
    prediction.basis = std::string(target.name) + " has no rates to predict from";
    return prediction;
  }
  // GB/s are bytes per nanosecond.
  const double link_us = work.link_bytes / (work.link_gbs > 0 ? work.link_gbs : target.link_gbs) / 1e3;
  const double memory_us = work.memory_bytes / target.memory_gbs / 1e3;
  const double compute_us = work.flops / target.fma_tflops_f32 / 1e6;
  prediction.floor_us = std::max({link_us, memory_us, compute_us});
  prediction.time_us = target.launch_us + work.signals * target.signal_us + prediction.floor_us;
  prediction.basis = std::string(target.name) + (target.measured ? ": rates measured" : ": rates from data sheets");
  return prediction;
}

Prediction no_prediction() {
  return {.link_bytes = 0, .floor_us = 0, .time_us = 0, .basis = "sizes are known only at launch"};
}

double neighbour_gbs(const Target& target) {
  // NVLink's switch gives one peer all of a GPU's links; AMD's GPUs have one link (of seven; of three) to each peer.
  if (target.platform == Platform::nvidia) return target.link_gbs;
  return target.link_gbs / (target.name == "gfx90a" ? 3 : 7);
}

std::string microseconds(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return std::string(text.data()) + " µs";
}

}  // namespace irisgen
