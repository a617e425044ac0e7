#include "irisgen/spec.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "generator/language/defaults.hpp"
#include "generator/language/document.hpp"
#include "generator/language/function_rules.hpp"
#include "generator/language/source_text.hpp"
#include "generator/language/spec_rules.hpp"
#include "generator/language/spec_schema.hpp"
#include "generator/language/unicode.hpp"
#include "generator/manifest/manifest_json.hpp"

namespace irisgen {
namespace {

nlohmann::json to_json(const iris::Extent& extent) {
  if (extent.dynamic) return "dynamic";
  return extent.value;
}

void add_user_kernel(const UserKernel& user, nlohmann::json& json) {
  json.erase("pattern");
  json.erase("variant");
  json["source"] = user.source;
  json["entry"] = user.entry;
  for (const auto& [name, constant] : user.constants) {
    nlohmann::json& value = json["constants"][name];
    constant.candidates.empty() ? value = constant.value : value = constant.candidates;
  }
  for (const UserArgument& argument : user.arguments) {
    nlohmann::json& entry = json["arguments"][argument.name] = nlohmann::json::object();
    if (argument.access) entry["access"] = iris::access_names.at(static_cast<std::size_t>(*argument.access));
    if (!argument.shape) continue;
    entry["shape"] = nlohmann::json::array();
    for (const auto& dimension : *argument.shape) entry["shape"].push_back(dimension.expression);
  }
  const UserReference& reference = user.reference;
  json["reference"] = "none";
  if (reference.none()) return;
  json["reference"] = {{"relative", reference.relative}, {"absolute", reference.absolute}};
  for (const auto& [argument, file] : reference.files) json["reference"]["files"][argument] = file.path;
  if (reference.source.empty()) return;
  json["reference"]["source"] = reference.source;
  json["reference"]["function"] = reference.function;
}

/// Puts what the command line says into every kernel, before any rule is asked.
void apply_overrides(Value& root, const Overrides& overrides) {
  Value* kernels = root.find("kernels");
  if (!kernels || !kernels->as<Array>() || !overrides.world) return;
  for (Value& kernel : *kernels->as<Array>()) {
    auto* object = kernel.as<Object>();
    if (!object) continue;
    std::erase_if(*object, [](const Member& member) { return member.key == "world"; });
    object->push_back({"world", world_option, {std::int64_t{*overrides.world}, world_option}});
  }
}

}  // namespace

const KernelSpec* Spec::find(std::string_view name) const {
  const auto found = std::ranges::find(kernels, name, &KernelSpec::name);
  return found == kernels.end() ? nullptr : &*found;
}

Spec parse_spec(std::string file, std::string text, const Overrides& overrides, Report& report) {
  Spec spec;
  spec.file = std::move(file);
  spec.text = without_byte_order_mark(std::move(text));
  if (auto root = parse_document(spec.text, report)) {
    apply_defaults(*root);
    apply_overrides(*root, overrides);
    spec_schema().validate(*root, report);
    spec.kernels = apply_rules(*root, report);
    const std::size_t slash = spec.file.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : spec.file.substr(0, slash + 1);
    for (KernelSpec& kernel : spec.kernels) {
      if (kernel.user) kernel.user->folder = folder;
      kernel.functions.folder = folder;
    }
  }
  return spec;
}

Spec parse_spec(std::string file, std::string text, const Overrides& overrides) {
  Report report(file, text);
  Spec spec = parse_spec(std::move(file), std::move(text), overrides, report);
  report.throw_if_any();
  return spec;
}

std::string read_text(const std::string& path) {
  if (path.empty()) throw std::runtime_error("the specification to read has an empty name");
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& stream = path == "-" ? std::cin : file;
  std::string text;
  std::array<char, 1 << 16> piece;
  // Up to one byte more than is allowed, so that parse_spec sees that there is too much, whatever the file is.
  while (stream && text.size() <= max_text_bytes) {
    const std::size_t wanted = std::min(piece.size(), max_text_bytes + 1 - text.size());
    stream.read(piece.data(), static_cast<std::streamsize>(wanted));
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if ((path != "-" && !file.is_open()) || stream.bad()) {
    throw std::runtime_error("cannot read " + path + "; check that it is a file that you may read");
  }
  return text;
}

std::string display_name(const std::string& path) {
  return path == "-" ? "<stdin>" : path;
}

Spec read_spec(const std::string& path, const Overrides& overrides) {
  return parse_spec(display_name(path), read_text(path), overrides);
}

std::string canonical_json(const KernelSpec& kernel, int world) {
  const Problem& problem = kernel.problem;
  const PatternKeys& keys = keys_of(problem.pattern);
  nlohmann::json json = {{"name", kernel.name},
                         {"pattern", problem.pattern},
                         {"dtype", to_string(problem.dtype)},
                         {"world", world},
                         {"shape", nlohmann::json::object()},
                         {"variant", kernel.variant},
                         {"config", nlohmann::json::object()}};
  if (keys.takes_accumulate) json["accumulate"] = to_string(problem.accumulate);
  if (problem.op) json["op"] = to_string(*problem.op);
  if (problem.root) json["root"] = *problem.root;
  if (!problem.shard.empty()) json["shard"] = problem.shard;
  if (problem.layout_b) json["layout"]["b"] = to_string(*problem.layout_b);
  for (const auto& [name, extent] : problem.extents) json["shape"][name] = to_json(extent);
  for (const auto& [key, setting] : kernel.config) json["config"][key] = setting.value;
  if (kernel.user) add_user_kernel(*kernel.user, json);
  add_user_functions(kernel.functions, json);
  return json.dump();
}

Spec check(const KernelSpec& kernel) {
  Report report("kernel '" + kernel.name + "'", "");
  const std::vector<std::string> names = pattern_names();
  if (!kernel.user && std::ranges::find(names, kernel.problem.pattern) == names.end()) {
    report.error({}, "unknown pattern '" + kernel.problem.pattern + "'" +
                         suggestion(kernel.problem.pattern, {names.begin(), names.end()}));
  }
  if (kernel.problem.result != iris::result_of(kernel.problem.dtype)) {
    report.error(
        {}, "a result of another type than the dtype, which only parts of operations may have; leave `result` out");
  }
  report.throw_if_any();
  const std::vector<int> worlds = kernel.worlds.empty() ? std::vector{kernel.problem.world} : kernel.worlds;
  auto json = nlohmann::json::parse(canonical_json(kernel, worlds.front()));
  json["world"] = worlds;
  for (const auto& [key, values] : kernel.tune) {
    for (const Setting& setting : values) json["tune"][key].push_back(setting.value);
  }
  if (kernel.user) {
    for (const UserArgument& argument : kernel.user->arguments) {
      if (!argument.value) continue;
      std::visit([&](auto value) { json["arguments"][argument.name]["value"] = value; }, argument.value->get());
    }
  }
  const nlohmann::json spec = {{"irisgen", 1}, {"kernels", {json}}};
  Spec checked = parse_spec("kernel '" + kernel.name + "'", spec.dump());
  for (KernelSpec& each : checked.kernels) {
    each.functions.folder = kernel.functions.folder;
    each.functions.reader = kernel.functions.reader;
    if (!each.user || !kernel.user) continue;
    each.user->folder = kernel.user->folder;
    each.user->reader = kernel.user->reader;
  }
  return checked;
}

}  // namespace irisgen
