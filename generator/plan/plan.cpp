#include "irisgen/plan.hpp"

#include <stdexcept>

#include <iris/device/abi.hpp>
#include "generator/language/resources.hpp"
#include "generator/plan/describe.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/source.hpp"

namespace irisgen {
namespace {

/// GPUs that can address one another: those of one machine.
constexpr int max_gpu_world = 8;

constexpr int default_timeout_ms = 10'000;

void check_world(const KernelSpec& kernel, int world, const Target& target) {
  const int largest = target.platform == Platform::host ? iris::device::max_world : max_gpu_world;
  if (world >= 1 && world <= largest) return;
  Report report("kernel '" + kernel.name + "'", "");
  report.error(kernel.world_where, "a world of " + std::to_string(world) + " ranks on " + std::string(target.name) +
                                       "; world must be from 1 to " + std::to_string(largest) + " there");
  report.throw_if_any();
}

/// `gradient_sum_two_shot_f32_sum_w8_n85002`: whoever sees it in a profile knows what it is.
std::string symbol_of(const Plan& plan) {
  const KernelSpec& kernel = plan.kernel;
  std::string symbol = kernel.name + "_" + plan.variant + "_" + std::string(to_string(kernel.dtype));
  if (kernel.pattern->reduces) symbol += "_" + std::string(to_string(kernel.op));
  symbol += "_w" + std::to_string(plan.world);
  for (const char name : named_extents(kernel)) {
    const Extent& extent = extent_of(kernel, name);
    symbol += extent.dynamic ? "_dynamic_" : "_";
    symbol += name;
    if (!extent.dynamic) symbol += std::to_string(extent.value);
  }
  return symbol;
}

/// The second launch bound: how much of a compute unit must be free for the grid to be resident as a whole, since its
/// blocks wait for one another. CUDA counts blocks of a multiprocessor, HIP waves of a SIMD.
int residency_of(const Plan& plan) {
  const Target& target = *plan.target;
  if (target.platform == Platform::host) return 1;
  const auto divide_up = [](int value, int by) { return (value + by - 1) / by; };
  const int blocks_per_unit = divide_up(plan.blocks, target.compute_units);
  if (target.platform == Platform::nvidia) return blocks_per_unit;
  constexpr int simds = 4;  // of a CU
  return divide_up(blocks_per_unit * plan.threads, simds * target.wave);
}

/// The keys that every template has; the pattern has added its own.
void add_common_substitutions(Plan& plan) {
  auto& values = plan.substitutions;
  values["symbol"] = plan.symbol;
  values["element"] = to_string(plan.kernel.dtype);
  values["world"] = std::to_string(plan.world);
  values["blocks"] = std::to_string(plan.blocks);
  values["threads"] = std::to_string(plan.threads);
  values["residency"] = std::to_string(residency_of(plan));
  std::string& extents = values["extents"];
  for (const char name : plan.kernel.pattern->extents) {
    const Extent& extent = extent_of(plan.kernel, name);
    std::string parameter = "dynamic_";
    parameter += name;
    values[{name}] = extent.dynamic ? parameter : std::to_string(extent.value);
    if (extent.dynamic) extents.append(", i64 ").append(parameter);
  }
}

/// A template and its planning file that disagree about a key show it here, before anything is written.
void check_template(const Plan& plan) {
  const auto text = resource("templates/" + plan.template_path);
  if (!text) throw std::logic_error("no template templates/" + plan.template_path);
  try {
    substitute(*text, plan.substitutions);
  } catch (const std::logic_error& error) {
    throw std::logic_error("templates/" + plan.template_path + ": " + error.what());
  }
}

}  // namespace

Plan make_plan(const KernelSpec& kernel, int world, const Target& target) {
  check_world(kernel, world, target);
  Plan plan;
  plan.kernel = kernel;
  plan.world = world;
  plan.target = &target;
  plan.timeout_ms = kernel.config.timeout_ms.value_or(default_timeout_ms);
  for (const char name : kernel.pattern->extents) {
    if (extent_of(kernel, name).dynamic) plan.dynamic_extents.push_back(name);
  }
  kernel.pattern->plan(plan);

  plan.symbol = symbol_of(plan);
  plan.stem = kernel.name + ".w" + std::to_string(world) + "." + std::string(target.name);
  add_common_substitutions(plan);
  check_template(plan);
  return plan;
}

std::vector<std::int64_t> shape_of(const Argument& argument, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::vector<std::int64_t> shape;
  for (const Argument::Dimension& dimension : argument.shape) {
    const std::int64_t extent = dimension.extent == 'm' ? m : dimension.extent == 'n' ? n : k;
    shape.push_back(extent * dimension.factor / dimension.divisor);
  }
  return shape;
}

}  // namespace irisgen
