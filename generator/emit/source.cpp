#include "irisgen/source.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>

#include "generator/emit/layout.hpp"
#include "generator/language/resources.hpp"
#include "generator/manifest/hash.hpp"
#include "generator/plan/describe.hpp"

namespace irisgen {
namespace {

std::string_view required_resource(std::string_view path) {
  const auto text = resource(path);
  if (!text) throw std::logic_error("no file " + std::string(path) + " among the embedded resources");
  return *text;
}

/// Splits off the first line, with its line end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end);
  return line;
}

/// The path of `#include "iris/device/…"`.
std::optional<std::string_view> device_include(std::string_view line) {
  constexpr std::string_view start = "#include <";
  if (!line.starts_with("#include <iris/device/")) return std::nullopt;
  const std::string_view path = line.substr(start.size());
  return path.substr(0, path.find('>'));
}

/// A template in two: what it includes of device/, and what stands below the include of the sample configuration.
struct TemplateText {
  std::string includes;
  std::string_view body;
};

/// What a user's kernel includes of device/.
std::string includes_of(const KernelSource& source) {
  std::string text;
  for (const std::string& header : source.device_includes) text += "#include <" + header + ">\n";
  return text;
}

TemplateText split_template(const std::string& path) {
  std::string_view text = required_resource("templates/" + path);
  TemplateText parts;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line == "#include \"../sample_config.hpp\"\n") {
      parts.body = text.substr(std::min(text.find_first_not_of('\n'), text.size()));
      return parts;
    }
    if (device_include(line)) parts.includes += line;
  }
  throw std::logic_error("templates/" + path + " does not include ../sample_config.hpp");
}

/// Where a header stands in a file that may be included beside others like it, each part of device/ counts once.
std::string guard_of(std::string_view path) {
  std::string name;
  for (const char c : path) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += !letter ? '_' : c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

/// The parts of device/ that some includes bring, each once, in the order of their need. Of the platforms only the
/// target's.
class Inliner {
 public:
  Inliner(Platform platform, std::optional<MainLoop> loop) : platform_(platform), loop_(loop) {}

  void add(std::string_view text) {
    while (!text.empty()) {
      if (const auto path = device_include(take_line(text))) add_file(resolve(*path));
    }
  }

  std::string take() { return std::move(result_); }

 private:
  /// What chooses by the compiler's macros: the emitted source has chosen already.
  std::string resolve(std::string_view path) const {
    if (path == "iris/device/platform.hpp") {
      return "iris/device/platform/" + std::string(to_string(platform_)) + ".hpp";
    }
    if (path == "iris/device/main_loop/any.hpp") return std::string(header_of(loop_.value()));
    return std::string(path);
  }

  static std::string_view header_of(MainLoop loop) {
    switch (loop) {
      case MainLoop::fma:
        return "iris/device/main_loop/fma.hpp";
      case MainLoop::mfma:
        return "iris/device/main_loop/mfma.hpp";
      case MainLoop::wgmma:
        return "iris/device/main_loop/wgmma.hpp";
    }
    return "";
  }

  void add_file(const std::string& path) {
    if (!added_.insert(path).second) return;
    const std::string_view text = required_resource(path);
    add(text);
    const std::string guard = guard_of(path);
    // Another version of this header in the same translation unit would be another type of the same name.
    const std::string version = "0x" + iris::sha256_hex(text).substr(0, 8);
    result_ += "// --- " + path + "\n\n#ifndef " + guard + "\n#define " + guard + " " + version + "\n";
    add_lines(text);
    result_ += "#elif " + guard + " != " + version + "\n#error \"" + path +
               " of another version of irisgen is in this translation unit\"\n#endif\n\n";
  }

  void add_lines(std::string_view text) {
    bool blank = false;
    while (!text.empty()) {
      const std::string_view line = take_line(text);
      if (device_include(line) || line.starts_with("#pragma once")) continue;
      if (line == "\n" && blank) continue;
      blank = line == "\n";
      result_ += line;
    }
  }

  Platform platform_;
  std::optional<MainLoop> loop_;
  std::set<std::string> added_;
  std::string result_;
};

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

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text.append(text.empty() ? "" : ", ").append(part);
  return text;
}

/// The template's OperandMaps. Arguments without dimensions are the operands' scales, a's first.
std::string map_values(const KernelPlan& kernel) {
  std::vector<std::string> values;
  values.reserve(kernel.maps.size() + 1);
  for (const iris::MatrixMap& map : kernel.maps) values.push_back("." + map.buffer + " = &" + map.buffer + "_map");
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
    values.push_back(parameter.is_buffer ? name : value_of(name, kernel.problem.extent(name)));
  }
  return values;
}

/// The entry: what a launch passes, handed on with the static extents.
std::string entry(const KernelPlan& kernel, Platform platform) {
  std::vector<std::string> parameters = {"Context context"};
  std::vector<std::string> values = {"context"};
  for (const iris::Argument& argument : kernel.arguments) {
    const std::string access = argument.access == iris::Access::read ? "const " : "";
    parameters.push_back(access + std::string(to_string(argument.dtype)) + "* " + argument.name);
    if (!argument.shape.empty()) values.push_back(argument.name);
  }
  if (kernel.main_loop()) values.push_back(map_values(kernel));
  for (const auto& [name, extent] : kernel.problem.extents) {
    if (extent.dynamic) parameters.push_back("i64 " + name);
    values.push_back(value_of(name, extent));
  }
  if (kernel.source) values = user_values(kernel);
  for (const iris::MatrixMap& map : kernel.maps) {
    parameters.push_back("const __grid_constant__ TensorMap " + map.buffer + "_map");
  }
  return "extern \"C\" __global__ void __launch_bounds__(Config::threads" + std::string(launch_bound(platform)) +
         ")\n" + lay_out_signature("    " + kernel.symbol + "(", join(parameters), ") {") + "\n" +
         lay_out_signature("  " + callee_of(kernel) + "(", join(values), ");") + "\n}\n";
}

std::string host_entry(const KernelPlan& kernel) {
  return "\n// What the CPU's engine calls: one pointer to each argument.\nextern \"C\" void " + kernel.symbol +
         "_host(void* const* arguments) {\n  call_entry(" + kernel.symbol + ", arguments);\n}\n";
}

std::string banner(const Plan& plan, const KernelPlan& kernel) {
  return "// Generated by irisgen (language 1) from kernel '" + plan.name +
         "'; change its description, not this file.\n//\n" + wrap_comment(describe(plan, kernel)) + "// spec sha256 " +
         plan.spec_hash + "\n\n";
}

std::size_t lines_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

/// What stands below the includes, in a file that has so many lines before. The compilers' messages name the user's
/// file for what comes from there, and this one for the rest.
std::string below_includes(const KernelPlan& kernel, Platform platform, std::size_t lines_before) {
  std::string text = "namespace irisgen_kernels::" + kernel.symbol + " {\n\nusing namespace iris::device;\n\n" +
                     align_trailing_comments(config_struct(kernel)) + "\n";
  if (kernel.source) {
    text += "namespace source {\n" + kernel.source->text + "\n";
    for (const std::string& macro : kernel.source->macros) text += "#undef " + macro + "\n";
    text += "#line " + std::to_string(lines_before + lines_of(text) + 2) + " \"" + kernel.stem + ".hip\"\n";
    text += "}  // namespace source\n";
  } else {
    text += split_template(kernel.template_path).body;
  }
  text += "\n" + entry(kernel, platform);
  if (platform == Platform::host) text += host_entry(kernel);
  return text + "\n}  // namespace irisgen_kernels::" + kernel.symbol + "\n";
}

Source emit_source(const Plan& plan, const KernelPlan& kernel) {
  const Platform platform = plan.target->platform;
  const std::string includes =
      kernel.source ? includes_of(*kernel.source) : split_template(kernel.template_path).includes;
  const std::string top = banner(plan, kernel);
  Inliner inliner(platform, kernel.main_loop());
  inliner.add(includes);
  const auto file = [&](const std::string& head) { return head + below_includes(kernel, platform, lines_of(head)); };
  Source source{.name = kernel.stem + ".hip",
                .text = file(top + includes + "\n"),
                .self_contained = file(top + inliner.take() + "// --- the kernel\n\n"),
                .hash = {}};
  source.hash = iris::sha256_hex(source.self_contained);
  return source;
}

}  // namespace

std::vector<Source> emit_sources(const Plan& plan) {
  std::vector<Source> sources;
  sources.reserve(plan.kernels.size());
  for (const KernelPlan& kernel : plan.kernels) sources.push_back(emit_source(plan, kernel));
  return sources;
}

}  // namespace irisgen
