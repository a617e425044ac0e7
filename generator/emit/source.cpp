#include "irisgen/source.hpp"

#include <algorithm>
#include <type_traits>

#include "generator/emit/cpp_types.hpp"
#include "generator/emit/functions.hpp"
#include "generator/emit/inliner.hpp"
#include "generator/emit/layout.hpp"
#include "generator/emit/template_text.hpp"
#include "generator/language/join.hpp"
#include "generator/manifest/hash.hpp"
#include "generator/plan/describe.hpp"

namespace irisgen {
namespace {

std::string_view launch_bound(Platform platform) {
  switch (platform) {
    case Platform::amd:
      return ", Config::waves_per_eu";
    case Platform::nvidia:
      return ", Config::min_blocks_per_sm";
    case Platform::host:
      return "";
  }
  return "";
}

/// The template's OperandMaps. Arguments without dimensions are the operands' scales, a's first.
std::string map_values(const KernelPlan& kernel) {
  std::vector<std::string> values;
  values.reserve(kernel.maps.size() + 1);
  for (const iris::MatrixMap& map : kernel.maps) {
    const std::string pointer = "&" + parameter_of(map);
    if (map.last_of) {
      values.back().insert(values.back().size() - 1, ", " + pointer);  // of the buffer before
    } else {
      values.push_back("." + map.buffer + " = {" + pointer + "}");
    }
  }
  std::vector<std::string> scales;
  for (const iris::Argument& argument : kernel.arguments) {
    if (argument.shape.empty()) scales.push_back(argument.name);
  }
  if (!scales.empty()) values.push_back(".scales = {" + join(scales) + "}");
  return "{" + join(values) + "}";
}

std::string value_of(const std::string& name, const iris::Extent& extent) {
  return extent.dynamic ? name : "/*" + name + "=*/" + std::to_string(extent.value);
}

std::string callee_of(const KernelPlan& kernel) {
  if (!kernel.source) return "kernel";
  return "source::" + kernel.source->entry + (kernel.source->takes_config ? "<Config>" : "");
}

/// What a user's kernel takes, in its own order.
std::vector<std::string> user_values(const KernelPlan& kernel) {
  std::vector<std::string> values = {"context"};
  for (const SourceParameter& parameter : kernel.source->parameters) {
    const std::string& name = parameter.name;
    const bool is_extent = !parameter.is_buffer && !parameter.scalar;
    values.push_back(is_extent ? value_of(name, kernel.problem.extent(name)) : name);
  }
  return values;
}

/// A buffer that a function of the user's own reads.
bool is_of_epilogue(const KernelPlan& kernel, const iris::Argument& argument) {
  return std::ranges::any_of(kernel.functions, [&](const FunctionPlan& function) {
    return std::ranges::find(function.arguments, argument.name, &iris::Argument::name) != function.arguments.end();
  });
}

/// The template's Output: `{output, n}`, the buffers of its epilogue with it.
std::string output_value(const KernelPlan& kernel) {
  const std::string epilogue = epilogue_value(kernel);
  return "{output, " + value_of("n", kernel.problem.extent("n")) + (epilogue.empty() ? "" : ", " + epilogue) + "}";
}

/// The entry: what a launch passes, handed on with the static extents.
std::string entry(const KernelPlan& kernel, Platform platform) {
  std::vector<std::string> parameters = {"Context context"};
  std::vector<std::string> values = {"context"};
  for (const iris::Argument& argument : kernel.arguments) {
    const std::string access = argument.access == iris::Access::read ? "const " : "";
    parameters.push_back(access + std::string(to_string(argument.dtype)) + "* " + argument.name);
    if (argument.shape.empty() || is_of_epilogue(kernel, argument)) continue;
    values.push_back(argument.access == iris::Access::read || !kernel.has_output() ? argument.name
                                                                                   : output_value(kernel));
  }
  if (kernel.main_loop()) values.push_back(map_values(kernel));
  for (const auto& [name, extent] : kernel.problem.extents) {
    if (extent.dynamic) parameters.push_back("i64 " + name);
    values.push_back(value_of(name, extent));
  }
  if (!kernel.launch_number.empty()) {
    parameters.push_back("i64 " + kernel.launch_number);
    values.push_back(kernel.launch_number);
  }
  if (kernel.source) {
    values = user_values(kernel);
    for (const SourceParameter& parameter : kernel.source->parameters) {
      if (parameter.scalar) parameters.push_back(std::string(to_string(*parameter.scalar)) + " " + parameter.name);
    }
  }
  for (const iris::MatrixMap& map : kernel.maps) {
    parameters.push_back("const __grid_constant__ TensorMap " + parameter_of(map));
  }
  return "extern \"C\" __global__ void __launch_bounds__(Config::threads" + std::string(launch_bound(platform)) +
         ")\n" + lay_out_signature("    " + kernel.symbol + "(", join(parameters), ") {") + "\n" +
         (kernel.lets_next_begin ? "  let_next_begin();\n" : "") +
         (kernel.dependent_launch && !kernel.has("early_stages") ? "  wait_for_stream();\n" : "") +
         lay_out_signature("  " + callee_of(kernel) + "(", join(values), ");") + "\n}\n";
}

std::string banner(const Plan& plan, const KernelPlan& kernel) {
  return "// Generated by irisgen (language 1) from kernel '" + plan.name +
         "'; change its description, not this file.\n//\n" + wrap_comment(describe(plan, kernel)) + "// spec sha256 " +
         plan.spec_hash + "\n\n";
}

/// The kernel's, and those that every reference may ask for.
std::vector<Constant> constants_of_reference(const Plan& plan) {
  const Problem& problem = plan.problem;
  std::vector<Constant> constants = plan.kernels.front().constants;
  const std::vector<Constant> more = {{"world", std::int64_t{problem.world}, "", ""},
                                      {"Element", problem.dtype, "", ""},
                                      {"Result", problem.result, "", ""},
                                      {"Accumulate", problem.accumulate, "", ""}};
  for (const Constant& constant : more) {
    if (std::ranges::find(constants, constant.name, &Constant::name) == constants.end()) constants.push_back(constant);
  }
  return constants;
}

std::size_t lines_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

/// All text of the user's own in a kernel.
std::string users_texts(const KernelPlan& kernel) {
  std::string text = kernel.source ? kernel.source->text : "";
  for (const FunctionPlan& function : kernel.functions) text += function.source.text;
  return text;
}

/// What stands below the includes, in a file that has so many lines before.
std::string below_includes(const KernelPlan& kernel, Platform platform, std::string_view includes,
                           std::size_t lines_before) {
  std::string text =
      "namespace irisgen_kernels::" + kernel.symbol + " {\n\n" + using_device(includes, users_texts(kernel)) + "\n";
  text += function_structs(kernel, kernel.stem + ".hip", lines_before + lines_of(text));
  text += align_trailing_comments(config_struct(kernel)) + "\n";
  if (kernel.source) {
    text += users_text(*kernel.source, "source", "", kernel.stem + ".hip", lines_before + lines_of(text));
  } else {
    text += split_template(kernel.template_path).body;
  }
  text += "\n" + entry(kernel, platform);
  if (platform == Platform::host) text += host_entry(kernel.symbol);
  return text + "\n}  // namespace irisgen_kernels::" + kernel.symbol + "\n";
}

Source emit_source(const Plan& plan, const KernelPlan& kernel) {
  const Platform platform = plan.target->platform;
  std::string includes =
      kernel.source ? with_includes("", *kernel.source) : split_template(kernel.template_path).includes;
  for (const FunctionPlan& function : kernel.functions) includes = with_includes(std::move(includes), function.source);
  const std::string top = banner(plan, kernel);
  const auto file = [&](const std::string& head) {
    return head + below_includes(kernel, platform, includes, lines_of(head));
  };
  Source source{
      .name = kernel.stem + ".hip",
      .text = file(top + includes + "\n"),
      .self_contained = file(top + inline_includes(includes, platform, kernel.main_loop()) + "// --- the kernel\n\n"),
      .hash = {}};
  source.hash = iris::sha256_hex(source.self_contained);
  return source;
}

}  // namespace

SourceQuestion question_of_reference(const Plan& plan) {
  const UserKernel& user = plan.user.value();
  KernelPlan kernel = plan.kernels.front();
  kernel.constants = constants_of_reference(plan);
  SourceQuestion question{.folder = user.folder,
                          .source = user.reference.source,
                          .entry = user.reference.function,
                          .config = config_struct(kernel),
                          .extents = {},
                          .buffers = {},
                          .scalars = plan.scalars};
  for (const iris::NamedExtent& extent : plan.problem.extents) question.extents.push_back(extent.name);
  for (const iris::Argument& argument : plan.arguments)
    question.buffers.push_back({argument.name, argument.access == iris::Access::read});
  return question;
}

ReferenceSource emit_reference(const Plan& plan, const KernelSource& reference) {
  const std::string name = plan.name + "_reference";
  KernelPlan kernel = plan.kernels.front();
  kernel.constants = constants_of_reference(plan);
  std::vector<std::string> values;
  for (const SourceParameter& parameter : reference.parameters) {
    const auto position = [&](const auto& all) {
      return std::to_string(std::ranges::find(all, parameter.name, &std::remove_cvref_t<decltype(all[0])>::name) -
                            all.begin());
    };
    const auto scalar = std::ranges::find(plan.scalars, parameter.name, &iris::Scalar::name);
    if (parameter.is_buffer) {
      values.push_back("buffers[" + position(plan.arguments) + "]");
    } else if (scalar != plan.scalars.end()) {
      values.push_back("*static_cast<const " + std::string(to_string(scalar->type)) + "*>(scalars[" +
                       position(plan.scalars) + "])");
    } else {
      values.push_back("extents[" + position(plan.problem.extents) + "]");
    }
  }
  const std::string includes = with_includes("", reference);
  std::string text = inline_includes(includes, Platform::host, {}) + "namespace irisgen_reference {\n\n" +
                     using_device(includes, reference.text) + "\n" + align_trailing_comments(config_struct(kernel)) +
                     "\n";
  text += users_text(reference, "source", "", name + ".cpp", lines_of(text));
  text +=
      "\nextern \"C\" void " + name +
      "(const i64* extents, f64* const* const* buffers, const void* const* scalars) {\n  source::" + reference.entry +
      (reference.takes_config ? "<Config>" : "") + "(" + join(values) + ");\n}\n\n}  // namespace irisgen_reference\n";
  return {.name = name + ".cpp", .text = std::move(text), .symbol = name};
}

std::vector<Source> emit_sources(const Plan& plan) {
  std::vector<Source> sources;
  sources.reserve(plan.kernels.size());
  for (const KernelPlan& kernel : plan.kernels) sources.push_back(emit_source(plan, kernel));
  return sources;
}

}  // namespace irisgen
