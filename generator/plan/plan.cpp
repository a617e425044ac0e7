#include "irisgen/plan.hpp"

#include <algorithm>
#include <stdexcept>
#include <variant>

#include "generator/manifest/hash.hpp"
#include "generator/plan/choose.hpp"
#include "generator/plan/describe.hpp"
#include "generator/plan/functions.hpp"

namespace irisgen {
namespace {

constexpr int default_timeout_ms = 10'000;

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
    case Op::function:
      return "OperationFunction";
  }
  return "";
}

std::string_view main_loop_name(MainLoop loop) {
  switch (loop) {
    case MainLoop::fma:
      return "FusedMultiplyAdd";
    case MainLoop::fma_staged:
      return "StagedMultiplyAdd";
    case MainLoop::mfma:
      return "WaveMma";
    case MainLoop::mma:
      return "WarpMma";
    case MainLoop::mma_packed:
      return "PackedWarpMma";
    case MainLoop::wgmma:
      return "WarpgroupMma";
  }
  return "";
}

void check_world(const KernelSpec& kernel, int world, const Target& target, Report& report) {
  if (world >= 1 && world <= target.max_world) return;
  report.error(kernel.where.world, "a world of " + std::to_string(world) + " ranks; world must be from 1 to " +
                                       std::to_string(target.max_world) + " there");
}

Problem problem_of(const KernelSpec& kernel, int world) {
  Problem problem = kernel.problem;
  problem.world = world;
  return problem;
}

/// What the description says by naming files.
std::string source_text(const Plan& plan) {
  const auto& source = plan.kernels.front().source;
  std::string text = source ? source->text : "";
  for (const FunctionPlan& function : plan.function_plans) text += function.source.text;
  return text;
}

/// The numbers that a kernel of the user's own takes by value.
void take_scalars(Plan& plan) {
  const auto& source = plan.kernels.front().source;
  if (!source) return;
  for (const SourceParameter& parameter : source->parameters) {
    if (parameter.scalar) plan.scalars.push_back({parameter.name, *parameter.scalar});
  }
  for (const UserArgument& said : plan.user.value().arguments) {
    if (said.value) plan.values.emplace(said.name, *said.value);
  }
}

/// What each kernel is called, in profiles and in the output folder.
void name_kernels(Plan& plan) {
  plan.stem = plan.name + ".w" + std::to_string(plan.problem.world) + "." + std::string(plan.target->name);
  for (KernelPlan& kernel : plan.kernels) {
    kernel.symbol = symbol_of(plan.name, kernel);
    kernel.stem = plan.stem + (kernel.part.empty() ? "" : "." + kernel.part);
  }
}

/// Lets the GPU set launches up while what their stream has before them ends, which saves a third to half of a
/// microsecond on an H200. Not of kernels that wait for other ranks': among eight ranks that shared a GPU, a barrier so
/// launched behind copies was now and then not begun while the others waited for it.
void choose_launch(Plan& plan) {
  if (plan.target->platform != Platform::nvidia) return;
  if (std::ranges::any_of(plan.kernels, &KernelPlan::waits_for_ranks)) return;
  for (KernelPlan& kernel : plan.kernels) kernel.dependent_launch = true;
  plan.choices.push_back({"launch", "dependent", "set up while what its stream has before it ends"});
}

/// What a table has of machines like the one that the plan is for.
const MachineRates* find_rates(const PlanOptions& options, const Target& target, int world) {
  for (const TuningTable& table : options.tuning) {
    if (const MachineRates* machine = table.find_rates(target.name, options.device, world)) return machine;
  }
  return nullptr;
}

std::string basis_of(const Target& target, const MachineRates& machine) {
  return std::string(target.name) + ": rates measured by " + std::to_string(machine.world) + " ranks on " +
         machine.device + ", " + machine.driver;
}

}  // namespace

std::string spec_hash_of(const KernelSpec& kernel, int world, const std::string& sources) {
  return iris::sha256_hex(canonical_json(kernel, world) + sources);
}

Plan make_plan(const KernelSpec& kernel, int world, const Target& target, const PlanOptions& options) {
  Plan plan;
  plan.name = kernel.name;
  plan.problem = problem_of(kernel, world);
  plan.target = &target;
  plan.user = kernel.user;
  plan.functions = kernel.functions;
  Report report("kernel '" + kernel.name + "' for " + std::string(target.name), "");
  check_world(kernel, world, target, report);
  const Pattern& pattern = pattern_of(plan.problem);
  if (pattern.check) pattern.check(kernel, plan.problem, report);
  report.throw_if_any();

  const MachineRates* machine = find_rates(options, target, world);
  Target calibrated = target;
  if (machine) calibrated.rates = machine->rates;
  plan.function_plans = read_functions(kernel, plan.problem);
  Chosen chosen = choose(kernel, plan.problem, calibrated, options, plan.function_plans);
  plan.variant = std::move(chosen.variant);
  plan.deterministic = chosen.deterministic;
  plan.alternatives = std::move(chosen.alternatives);
  plan.measured_at = std::move(chosen.measured_at);
  plan.prediction = std::move(chosen.prediction);
  if (machine && plan.prediction.time_us > 0) plan.prediction.basis = basis_of(target, *machine);
  plan.choices.push_back({"variant", plan.variant, std::move(chosen.reason)});
  if (auto choice = choice_of_prologue(plan.function_plans, plan.problem, calibrated, chosen.draft))
    plan.choices.push_back(*std::move(choice));
  plan.schedules = std::move(chosen.schedules);
  plan.arguments = std::move(chosen.draft.arguments);
  plan.intermediates = std::move(chosen.draft.intermediates);
  plan.kernels = std::move(chosen.draft.kernels);
  plan.in_place = chosen.draft.in_place;
  take_scalars(plan);
  choose_launch(plan);

  const auto timeout = kernel.config.find("timeout_ms");
  plan.timeout_ms = timeout == kernel.config.end() ? default_timeout_ms : timeout->second.value;
  plan.spec_hash = spec_hash_of(kernel, world, source_text(plan));
  name_kernels(plan);
  return plan;
}

namespace {

/// The refusals of one kernel in one world, as it is tried on one target after another.
void add(std::vector<Refusal>& refusals, const Diagnostic& diagnostic, const Target& target) {
  const auto same = std::ranges::find_if(refusals, [&](const Refusal& other) {
    return other.diagnostic.where == diagnostic.where && other.diagnostic.message == diagnostic.message;
  });
  if (same == refusals.end()) {
    refusals.push_back({diagnostic, {&target}});
  } else {
    same->targets.push_back(&target);
  }
}

void plan_kernel(const KernelSpec& kernel, int world, std::span<const Target* const> targets,
                 const PlanOptions& options, std::vector<Plan>& plans, std::vector<Refusal>& refusals) {
  const std::size_t plans_before = plans.size();
  std::vector<Refusal> own;
  for (const Target* target : targets) {
    try {
      plans.push_back(make_plan(kernel, world, *target, options));
    } catch (const SpecError& error) {
      for (const Diagnostic& diagnostic : error.report().diagnostics()) add(own, diagnostic, *target);
    }
  }
  for (Refusal& refusal : own) {
    refusal.everywhere = plans.size() == plans_before;
    refusals.push_back(std::move(refusal));
  }
}

}  // namespace

std::string Refusal::message() const {
  std::string words;
  for (const Target* target : targets) words.append(words.empty() ? "for " : ", ").append(target->name);
  return words + ": " + diagnostic.message;
}

std::vector<Plan> plan_all(const Spec& spec, std::span<const Target* const> targets, const PlanOptions& options,
                           std::vector<Refusal>& refusals) {
  std::vector<Plan> plans;
  for (const KernelSpec& kernel : spec.kernels) {
    for (const int world : kernel.worlds) plan_kernel(kernel, world, targets, options, plans, refusals);
  }
  return plans;
}

std::vector<Plan> plan_all(const Spec& spec, std::span<const Target* const> targets, const PlanOptions& options) {
  std::vector<Refusal> refusals;
  std::vector<Plan> plans = plan_all(spec, targets, options, refusals);
  Report report = spec.report();
  for (const Refusal& refusal : refusals)
    report.error(refusal.diagnostic.where, refusal.message(), refusal.diagnostic.detail);
  report.throw_if_any();
  return plans;
}

std::string Constant::text() const {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* dtype = std::get_if<Dtype>(&value)) return std::string(to_string(*dtype));
  if (const auto* op = std::get_if<Op>(&value)) return std::string(operation_name(*op));
  if (const auto* role = std::get_if<FunctionRole>(&value)) return std::string(struct_name(*role));
  if (const auto* loop = std::get_if<MainLoop>(&value)) return std::string(main_loop_name(*loop));
  return std::get<iris::Layout>(value) == iris::Layout::nk ? "ColumnMajor" : "RowMajor";
}

std::optional<MainLoop> KernelPlan::main_loop() const {
  for (const Constant& constant : constants) {
    if (const auto* loop = std::get_if<MainLoop>(&constant.value)) return *loop;
  }
  return std::nullopt;
}

std::int64_t KernelPlan::number(std::string_view constant) const {
  const auto found = std::ranges::find(constants, constant, &Constant::name);
  const auto* value = found == constants.end() ? nullptr : std::get_if<std::int64_t>(&found->value);
  if (!value) throw std::logic_error(template_path + " has no constant '" + std::string(constant) + "'");
  return *value;
}

bool KernelPlan::has(std::string_view constant) const {
  return std::ranges::find(constants, constant, &Constant::name) != constants.end();
}

}  // namespace irisgen
