#include "generator/plan/functions.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "generator/plan/by_size.hpp"
#include "generator/plan/compose.hpp"
#include "generator/plan/describe.hpp"
#include "irisgen/source_reader.hpp"

namespace irisgen {
namespace {

struct RoleNames {
  std::string_view role;
  std::string_view struct_name;
  std::string_view member;  // of Config
};
constexpr std::array role_names = {RoleNames{"operation", "OperationFunction", "Operation"},
                                   RoleNames{"prologue", "PrologueFunction", "Prologue"},
                                   RoleNames{"epilogue", "EpilogueFunction", "Epilogue"}};

const RoleNames& names_of(FunctionRole role) {
  return role_names.at(static_cast<std::size_t>(role));
}

/// Values that a function takes before its buffers' elements.
std::size_t values_of(FunctionRole role) {
  return role == FunctionRole::operation ? 2 : 1;
}

class FunctionReader {
 public:
  FunctionReader(const KernelSpec& spec, const Problem& problem)
      : spec_(spec), problem_(problem), report_("kernel '" + spec.name + "'", "") {}

  std::vector<FunctionPlan> read() {
    const UserFunctions& functions = spec_.functions;
    if (functions.operation) add(FunctionRole::operation, *functions.operation);
    if (functions.prologue) add(FunctionRole::prologue, *functions.prologue);
    if (functions.epilogue) add(FunctionRole::epilogue, *functions.epilogue);
    report_.throw_if_any();
    return std::move(plans_);
  }

 private:
  void add(FunctionRole role, const UserFunction& said) {
    const auto source = ask(said);
    if (!source) return;
    FunctionPlan plan{.role = role, .source = *source};
    const std::size_t values = values_of(role);
    const std::size_t parameters = source->parameters.size();
    if (parameters < values || (role != FunctionRole::epilogue && parameters > values)) {
      error(said.where_function, "'" + said.function + "' takes " + std::to_string(parameters) +
                                     (parameters == 1 ? " parameter (" : " parameters (") + source->place + "), and " +
                                     article(role) + " takes " + (values == 2 ? "two values" : "one value") +
                                     (role == FunctionRole::epilogue ? ", and an element of each buffer" : ""));
      return;
    }
    for (std::size_t i = values; i < parameters; ++i) add_buffer(said, source->parameters[i], plan);
    check_named(said, plan);
    plans_.push_back(std::move(plan));
  }

  static std::string article(FunctionRole role) {
    return (role == FunctionRole::prologue ? "a " : "an ") + std::string(to_string(role));
  }

  std::optional<KernelSource> ask(const UserFunction& said) {
    const UserFunctions& functions = spec_.functions;
    if (!functions.reader) {
      error(said.where_source,
            "nothing here can read the source of a function; hand plan() a spec that has been given "
            "a reader, with iris::attach_source_reader()");
      return std::nullopt;
    }
    try {
      return functions.reader->read_function(
          {functions.folder, said.source, said.function, std::string(to_string(problem_.accumulate))});
    } catch (const SourceError& problem) {
      report_.error(said.where_source, problem.what(), problem.rendered());
    } catch (const std::runtime_error& problem) {
      error(said.where_source, problem.what());
    }
    return std::nullopt;
  }

  void add_buffer(const UserFunction& said, const SourceParameter& parameter, FunctionPlan& plan) {
    if (is_taken(parameter.name)) {
      error(said.where_function,
            "the parameter '" + parameter.name + "' (" + parameter.place +
                ") would be a buffer of a name that means something else in the kernel or its launcher; rename it");
      return;
    }
    const auto found = std::ranges::find(said.arguments, parameter.name, &UserFunction::Argument::name);
    const bool is_said = found != said.arguments.end();
    const Per per = is_said ? found->per.value_or(Per::column) : Per::column;
    const Dtype dtype = is_said ? found->dtype.value_or(problem_.result) : problem_.result;
    const bool whole = problem_.accumulate == Dtype::i32;
    if (whole != (dtype == Dtype::i32)) {
      error(is_said ? found->where : said.where_function,
            "'" + parameter.name + "' is " + std::string(to_string(dtype)) + " where sums are " +
                std::string(to_string(problem_.accumulate)) + "; whole numbers and floats do not mix: write `dtype: " +
                (whole ? "i32`" : "f32`, or another type of floats,") + " for it");
    }
    plan.arguments.push_back({.name = parameter.name,
                              .access = Access::read,
                              .dtype = dtype,
                              .shape = shape_of(per),
                              .alignment = static_cast<int>(iris::bytes_of(dtype)),
                              .replicated = pattern_of(problem_).replicates});
    plan.per.push_back(per);
  }

  bool is_taken(const std::string& name) const {
    static const std::set<std::string_view> taken = {
        "Config", "Context", "Coordinates",  "a_last_map",     "a_map",   "at",
        "b_map",  "both",    "buffers",      "context",        "convert", "gathered_last_map",
        "index",  "input",   "gathered_map", "iris",           "kernel",  "maps",
        "std",    "stream",  "value",        "irisgen_kernels"};
    const std::vector<Argument> arguments = pattern_of(problem_).arguments(problem_);
    const bool is_type = iris::dtype_from(name) || name == "i64" || name == "u32" || name == "u64";
    return taken.contains(name) || is_type || problem_.has_extent(name) ||
           std::ranges::find(arguments, name, &Argument::name) != arguments.end();
  }

  /// Of the rank's own output.
  std::vector<Dimension> shape_of(Per per) const {
    const std::vector<Argument> arguments = pattern_of(problem_).arguments(problem_);
    const std::vector<Dimension>& output = std::ranges::find(arguments, Access::write, &Argument::access)->shape;
    switch (per) {
      case Per::column:
        return {output.back()};
      case Per::row:
        return {output.front()};
      case Per::element:
        return output;
      case Per::output:
        break;
    }
    return {{.offset = 1}};
  }

  void check_named(const UserFunction& said, const FunctionPlan& plan) {
    for (const UserFunction::Argument& argument : said.arguments) {
      if (std::ranges::find(plan.arguments, argument.name, &Argument::name) != plan.arguments.end()) continue;
      error(argument.where, "'" + argument.name + "' is no parameter of " + said.function + " (" + plan.source.place +
                                ") after its value; name one of those, or remove it");
    }
  }

  void error(Position where, const std::string& message) { report_.error(where, message); }

  const KernelSpec& spec_;
  const Problem& problem_;
  Report report_;
  std::vector<FunctionPlan> plans_;
};

/// The kernel of a draft that makes the values which its results are: the last that computes any.
std::size_t finishing_kernel(const Draft& draft) {
  std::size_t last = draft.kernels.size();
  for (std::size_t i = 0; i < draft.kernels.size(); ++i) {
    if (draft.kernels[i].has_output()) last = i;
  }
  return last;
}

/// Whether a kernel writes the operation's output where it belongs, rather than a part that is moved there.
bool writes_output(const Draft& draft, std::size_t kernel) {
  return std::ranges::any_of(draft.steps, [&](const iris::Step& step) {
    const auto* launch = std::get_if<iris::LaunchStep>(&step.action);
    return launch && launch->kernel == static_cast<int>(kernel) &&
           std::ranges::find(launch->buffers, "output") != launch->buffers.end();
  });
}

/// Buffers of a draft go by their names, and what the kernel is passed by its own.
void refuse_name_of_own(const Request& request, const FunctionPlan& function, const Draft& draft,
                        const KernelPlan& kernel) {
  for (const Argument& argument : function.arguments) {
    const bool is_buffer = std::ranges::count(draft.intermediates, argument.name, &iris::Intermediate::name) > 0;
    if (!is_buffer && argument.name != kernel.launch_number) continue;
    refuse(request, "",
           std::string(request.variant) + " has a " + (is_buffer ? "buffer" : "number") + " '" + argument.name +
               "' of its own; rename the parameter of " + function.source.entry);
  }
}

void attach(KernelPlan& kernel, const FunctionPlan& function) {
  kernel.functions.push_back(function);
  if (function.role == FunctionRole::operation) return;  // which the template's Config has anyway
  kernel.constants.push_back({std::string(names_of(function.role).member), function.role, "",
                              function.source.entry + " of " + function.source.file});
}

/// Whether a step of its own calls the function, rather than a kernel of the variant's.
bool is_step(const FunctionPlan& function, const Problem& problem) {
  return function.role == FunctionRole::prologue && pattern_of(problem).product != nullptr;
}

/// A product's draft behind a step that leaves A in a buffer of its own as the prologue makes it: matrix units take
/// their operands as they lie in memory. What the product sends of A, it sends of that buffer.
Draft after_prologue(const Request& request, const Variant& variant, const FunctionPlan& prologue, Draft product) {
  const std::string mapped = "mapped_a";
  const Problem& problem = request.problem;
  const std::vector<Dimension> shape = std::ranges::find(product.arguments, "a", &Argument::name)->shape;
  Composition whole(request);
  whole.add_intermediate(mapped, problem.dtype, shape);
  // Elements of tf32 are f32 in memory, and become tf32 on their way into the product.
  const Dtype dtype = problem.dtype == Dtype::tf32 ? Dtype::f32 : problem.dtype;
  whole.add({.name = std::string(to_string(FunctionRole::prologue)),
             .problem = {.pattern = std::string(map_pattern),
                         .dtype = dtype,
                         .accumulate = problem.accumulate,
                         .result = dtype},
             .extents = {{"m", shape[0]}, {"n", shape[1]}},
             .buffers = {{"input", "a"}, {"output", mapped}},
             .settings = {}});
  PartRequest part{.name = std::string(variant.name), .problem = problem, .extents = {}, .buffers = {}, .settings = {}};
  part.extents.reserve(problem.extents.size());
  part.buffers.reserve(product.arguments.size());
  for (const iris::NamedExtent& extent : problem.extents) part.extents.push_back({extent.name, {extent.name}});
  for (const Argument& argument : product.arguments)
    part.buffers.emplace_back(argument.name, argument.name == "a" ? mapped : argument.name);
  whole.add(part, variant, std::move(product));
  Draft draft = whole.take();
  attach(draft.kernels.front(), prologue);
  return draft;
}

/// Main loops of wgmma have sums of two neighbours in a thread, the first in an even column of the output. What it
/// reads for them comes in one access where rows of the output begin at even elements.
FunctionPlan in_pairs(FunctionPlan function, const Problem& problem, const KernelPlan& kernel) {
  if (function.role != FunctionRole::epilogue || kernel.main_loop() != MainLoop::wgmma) return function;
  if (known_multiple(problem.extent("n")) % (2 * shards_of(problem, "n")) != 0) return function;
  for (std::size_t i = 0; i < function.arguments.size(); ++i) {
    if (!differs_in_pairs(function.per[i])) continue;
    Argument& buffer = function.arguments[i];
    buffer.alignment = static_cast<int>(2 * iris::bytes_of(buffer.dtype));
    function.pairs = true;
  }
  return function;
}

/// New arguments of the kernel, and of each launch of it.
void pass_buffers(const FunctionPlan& function, std::size_t kernel, Draft& draft) {
  for (const Argument& argument : function.arguments) {
    draft.arguments.push_back(argument);
    draft.kernels[kernel].arguments.push_back(argument);
  }
  for (iris::Step& step : draft.steps) {
    auto* launch = std::get_if<iris::LaunchStep>(&step.action);
    if (!launch || launch->kernel != static_cast<int>(kernel)) continue;
    for (const Argument& argument : function.arguments) launch->buffers.push_back(argument.name);
  }
}

}  // namespace

std::string_view to_string(FunctionRole role) {
  return names_of(role).role;
}

std::string_view struct_name(FunctionRole role) {
  return names_of(role).struct_name;
}

bool KernelPlan::has_output() const {
  return !source && has("Accumulate");
}

std::vector<FunctionPlan> read_functions(const KernelSpec& spec, const Problem& problem) {
  return spec.functions.none() ? std::vector<FunctionPlan>{} : FunctionReader(spec, problem).read();
}

void attach_functions(const Request& request, const Variant& variant, std::span<const FunctionPlan> functions,
                      Draft& draft) {
  if (functions.empty()) return;
  for (const FunctionPlan& function : functions) {
    if (is_step(function, request.problem)) draft = after_prologue(request, variant, function, std::move(draft));
  }
  const std::size_t kernel = finishing_kernel(draft);
  const std::string words = std::string(request.variant) + " cannot call a function of your own";
  if (kernel == draft.kernels.size()) refuse(request, "", words + ": it adds in the output; take spinlock");
  const bool in_parts = !writes_output(draft, kernel);
  for (const FunctionPlan& function : functions) {
    if (is_step(function, request.problem)) continue;
    if (in_parts && !function.arguments.empty()) {
      refuse(request, "",
             words + " that has buffers: it makes the results in parts, and moves them then; take another variant");
    }
    refuse_name_of_own(request, function, draft, draft.kernels[kernel]);
    const FunctionPlan placed = in_pairs(function, request.problem, draft.kernels[kernel]);
    attach(draft.kernels[kernel], placed);
    pass_buffers(placed, kernel, draft);
  }
}

std::optional<Choice> choice_of_prologue(std::span<const FunctionPlan> functions, const Problem& problem,
                                         const Target& target, const Draft& draft) {
  const auto prologue = std::ranges::find_if(functions, [&](const auto& each) { return is_step(each, problem); });
  if (prologue == functions.end()) return std::nullopt;
  Choice choice{.name = std::string(to_string(prologue->role)),
                .value = prologue->source.entry + " of " + prologue->source.file,
                .reason = "a step of its own before the product, which reads all of A and writes as much"};
  if (!problem.is_static()) return choice;
  const Part& step = draft.parts.front();
  const std::vector<Work> works = step.variant->cost(step.problem, target, *step.draft);
  const auto bytes = static_cast<std::int64_t>(works.front().memory_bytes);
  choice.reason += ": " + bytes_text(bytes) + " in all";
  if (target.predicts)
    choice.reason += ", predicted to take " + microseconds(predict(target, problem.world, works).time_us);
  return choice;
}

}  // namespace irisgen
