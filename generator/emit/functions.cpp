#include "generator/emit/functions.hpp"

#include <algorithm>

#include "generator/emit/inliner.hpp"
#include "generator/emit/layout.hpp"
#include "generator/emit/math_names.hpp"
#include "irisgen/source.hpp"

namespace irisgen {
namespace {

/// Of a buffer its element for a result.
std::string_view index_of(Per per) {
  switch (per) {
    case Per::column:
      return "at.column";
    case Per::row:
      return "at.row";
    case Per::element:
      return "index";
    case Per::output:
      return "0";
  }
  return "";
}

bool uses(const FunctionPlan& function, std::initializer_list<Per> any) {
  return std::ranges::find_first_of(function.per, any) != function.per.end();
}

/// The function for values of a type.
std::string callee(const FunctionPlan& function, const std::string& type) {
  return space_of(function) + "::" + function.source.entry + (function.source.takes_config ? "<" + type + ">" : "");
}

/// Of a buffer, by its number, for a result.
std::string element_of(const FunctionPlan& function, std::size_t buffer) {
  return function.arguments[buffer].name + "[" + std::string(index_of(function.per[buffer])) + "]";
}

/// `values`, then of each buffer what `element` says of its number.
template <typename Element>
std::string call(const FunctionPlan& function, const std::string& values, const std::string& type,
                 const Element& element) {
  std::string text = callee(function, type) + "(" + values;
  for (std::size_t i = 0; i < function.arguments.size(); ++i) text += ", convert<" + type + ">(" + element(i) + ")";
  return text + ")";
}

std::string call(const FunctionPlan& function, const std::string& values, const std::string& type) {
  return call(function, values, type, [&](std::size_t buffer) { return element_of(function, buffer); });
}

std::string static_struct(const FunctionPlan& function, const std::string& type) {
  const bool two = function.role == FunctionRole::operation;
  const std::string values = two ? type + " a, " + type + " b" : type + " value";
  return "  __device__ __forceinline__ static " + type + " apply(" + values + ") {\n    return " +
         call(function, two ? "a, b" : "value", type) + ";\n  }\n";
}

/// The function for two neighbours, whose elements of a buffer come in one access.
std::string pair_of(const FunctionPlan& function, const std::string& type, const std::string& parameters) {
  std::string members;
  std::string loads;
  for (std::size_t i = 0; i < function.arguments.size(); ++i) {
    if (!differs_in_pairs(function.per[i])) continue;
    const iris::Argument& buffer = function.arguments[i];
    members += "      Pack<" + std::string(to_string(buffer.dtype)) + ", 2> " + buffer.name + ";\n";
    loads += (loads.empty() ? "" : ", ") +
             ("load_pack<2>(" + buffer.name + " + " + std::string(index_of(function.per[i])) + ")");
  }
  const auto call_of = [&](const std::string& lane) {
    return call(function, "value[" + lane + "]", type, [&](std::size_t buffer) {
      if (!differs_in_pairs(function.per[buffer])) return element_of(function, buffer);
      return "both." + function.arguments[buffer].name + "[" + lane + "]";
    });
  };
  const std::string pack = "Pack<" + type + ", 2>";
  return "\n  // Of two neighbours of a row.\n  __device__ __forceinline__ " + pack + " pair(const " + pack +
         "& value, " + parameters + ") const {\n    const struct {\n" + members + "    } both = {" + loads +
         "};\n    return {{" + call_of("0") + ",\n             " + call_of("1") + "}};\n  }\n";
}

std::string epilogue_struct(const FunctionPlan& function, const std::string& type) {
  std::string text;
  for (std::size_t i = 0; i < function.arguments.size(); ++i) {
    const iris::Argument& buffer = function.arguments[i];
    const std::string per(to_string(function.per[i]));
    text += "  const " + std::string(to_string(buffer.dtype)) + "* " + buffer.name + ";  // " +
            (function.per[i] == Per::output ? "one element" : "one for each " + per) + "\n";
  }
  if (!text.empty()) text = align_trailing_comments(text) + "\n";
  const std::string at = uses(function, {Per::column, Per::row}) ? " at" : "";
  const std::string index = uses(function, {Per::element}) ? " index" : "";
  const std::string parameters = "const Coordinates&" + at + ", i64" + index;
  text += "  __device__ __forceinline__ " + type + " operator()(" + type + " value, " + parameters +
          ") const {\n    return " + call(function, "value", type) + ";\n  }\n";
  return function.pairs ? text + pair_of(function, type, parameters) : text;
}

std::string summary_of(const FunctionPlan& function) {
  const std::string name = function.source.entry + " of " + function.source.file;
  switch (function.role) {
    case FunctionRole::operation:
      return name + " reduces.";
    case FunctionRole::prologue:
      return name + ", for each element that is loaded.";
    case FunctionRole::epilogue:
      return name + ", for each result before it is rounded.";
  }
  return "";
}

/// Makes a function of f32 one of f64; a template is one already. In the vocabulary f32 is a name, in the user's text
/// it may be a keyword.
constexpr std::string_view in_float64 = " using f32 = f64;\n#define float double";

/// Sets results[i] for one role.
std::string loop_over(const FunctionPlan& function, const Dtype accumulate) {
  const bool wraps = accumulate == Dtype::i32;
  const auto value = [&](const std::string& name) {
    return wraps ? "static_cast<i32>(" + name + "[index])" : name + "[index]";
  };
  std::string values = value("a");
  if (function.role == FunctionRole::operation) values += ", " + value("b");
  for (std::size_t i = 0; i < function.arguments.size(); ++i) {
    const std::string element = "buffers[" + std::to_string(i) + "][" + std::string(index_of(function.per[i])) + "]";
    values += ", " + (wraps ? "static_cast<i32>(" + element + ")" : element);
  }
  return "    if (role == " + std::to_string(static_cast<int>(function.role)) +
         ") results[index] = " + callee(function, wraps ? "i32" : "f64") + "(" + values + ");\n";
}

}  // namespace

std::string with_includes(std::string includes, const KernelSource& source) {
  for (const std::string& header : source.device_includes) {
    const std::string line = "#include <" + header + ">\n";
    if (includes.find(line) == std::string::npos) includes += line;
  }
  return includes;
}

std::string using_device(std::string_view includes, std::string_view text) {
  return "using namespace iris::device;\n" + math_declarations(includes, text);
}

std::string users_text(const KernelSource& source, const std::string& space, const std::string& prelude,
                       const std::string& file, std::size_t lines_before) {
  std::string text = "namespace " + space + " {" + prelude + "\n" + source.text + "\n";
  for (const std::string& macro : source.macros) text += "#undef " + macro + "\n";
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  text += "#line " + std::to_string(lines_before + lines + 2) + " \"" + file + "\"\n";
  return text + "}  // namespace " + space + "\n";
}

std::string space_of(const FunctionPlan& function) {
  return std::string(to_string(function.role)) + "_source";
}

std::string function_structs(const KernelPlan& kernel, const std::string& file, std::size_t lines_before) {
  const std::string type(to_string(kernel.problem.accumulate));
  std::string text;
  for (const FunctionPlan& function : kernel.functions) {
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    text += users_text(function.source, space_of(function), "", file, lines_before + lines) + "\n";
    text +=
        wrap_comment(summary_of(function)) + "struct " + std::string(struct_name(function.role)) + " {\n" +
        (function.role == FunctionRole::epilogue ? epilogue_struct(function, type) : static_struct(function, type)) +
        "};\n\n";
  }
  return text;
}

std::string epilogue_value(const KernelPlan& kernel) {
  std::string names;
  for (const FunctionPlan& function : kernel.functions) {
    for (const iris::Argument& buffer : function.arguments) names += (names.empty() ? "" : ", ") + buffer.name;
  }
  return names.empty() ? "" : "{" + names + "}";
}

ReferenceSource emit_functions(const Plan& plan) {
  const std::string name = plan.name + "_functions";
  std::string includes = "#include <iris/device/numeric.hpp>\n";
  for (const FunctionPlan& function : plan.function_plans) includes = with_includes(includes, function.source);
  std::string texts;
  for (const FunctionPlan& function : plan.function_plans) texts += function.source.text;
  std::string text = inline_includes(includes, Platform::host, {}) + "namespace irisgen_reference {\n\n" +
                     using_device(includes, texts) + "\n";
  std::string loops;
  for (const FunctionPlan& function : plan.function_plans) {
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    const bool is_of_f32 = plan.problem.accumulate == Dtype::f32 && !function.source.takes_config;
    const std::string prelude = is_of_f32 ? std::string(in_float64) : "";
    text += users_text(function.source, space_of(function), prelude, name + ".cpp", lines);
    if (is_of_f32) text += "#undef float\n";
    loops += loop_over(function, plan.problem.accumulate);
  }
  text += "\nextern \"C\" void " + name + "(i64 role, i64 count, [[maybe_unused]] i64 columns, const f64* a, " +
          "[[maybe_unused]] const f64* b,\n    [[maybe_unused]] const f64* const* buffers, f64* results) {\n" +
          "  for (i64 index = 0; index < count; ++index) {\n" +
          "    [[maybe_unused]] const struct { i64 row, column; } at{index / columns, index % columns};\n" + loops +
          "  }\n}\n\n}  // namespace irisgen_reference\n";
  return {.name = name + ".cpp", .text = std::move(text), .symbol = name};
}

}  // namespace irisgen
