#include "iris/manifest.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include <iris/device/abi.hpp>
#include "generator/manifest/hash.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/source.hpp"

namespace irisgen {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t max_int = std::numeric_limits<int>::max();
constexpr std::int64_t max_int64 = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("manifest: " + what);
}

/// The members of one object, all of which must be there and no other.
class Members {
 public:
  Members(const Json& object, std::string where, const std::vector<std::string>& keys)
      : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail(where_ + " must be an object");
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(keys, key) == keys.end()) fail("unknown key '" + key + "' in " + where_);
    }
    for (const std::string& key : keys) {
      if (!object.contains(key)) fail("key '" + key + "' is missing in " + where_);
    }
  }

  const Json& at(const char* key) const { return object_.at(key); }

  std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) const {
    const Json& value = at(key);
    const bool fits = value.is_number_integer() &&
                      !(value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t(max_int64));
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most) {
      complain(key, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value.get<std::int64_t>();
  }
  int number(const char* key, int least, std::int64_t most = max_int) const {
    return static_cast<int>(integer(key, least, most));
  }
  bool boolean(const char* key) const {
    if (!at(key).is_boolean()) complain(key, "true or false");
    return at(key).get<bool>();
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) complain(key, "a string");
    return at(key).get<std::string>();
  }
  std::string identifier(const char* key) const {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    const auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
    const std::string name = text(key);
    if (name.empty() || !letter(name[0]) || !std::ranges::all_of(name, allowed)) complain(key, "a C identifier");
    return name;
  }
  std::string sha256(const char* key) const {
    const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    const std::string digits = text(key);
    if (digits.size() != 64 || !std::ranges::all_of(digits, hex)) complain(key, "64 lower-case hexadecimal digits");
    return digits;
  }
  Dtype dtype(const char* key) const {
    const auto value = dtype_from(text(key));
    if (!value) complain(key, "a dtype");
    return *value;
  }
  Op op(const char* key) const {
    const auto value = op_from(text(key));
    if (!value) complain(key, "an op");
    return *value;
  }

  [[noreturn]] void complain(const char* key, const std::string& wanted) const {
    fail("'" + std::string(key) + "' in " + where_ + " must be " + wanted);
  }

 private:
  const Json& object_;
  std::string where_;
};

Json to_json_value(const Extent& extent) {
  return extent.dynamic ? Json("dynamic") : Json(extent.value);
}

Json to_json_value(const Argument& argument) {
  Json shape = Json::array();
  for (const Argument::Dimension& dimension : argument.shape) {
    shape.push_back(
        {{"extent", std::string(1, dimension.extent)}, {"factor", dimension.factor}, {"divisor", dimension.divisor}});
  }
  return {{"name", argument.name},
          {"access", argument.access == Access::read ? "read" : "write"},
          {"dtype", to_string(argument.dtype)},
          {"shape", std::move(shape)},
          {"symmetric", argument.symmetric},
          {"alignment", argument.alignment},
          {"root_only", argument.root_only}};
}

Extent parse_extent(const Members& extents, const char* key) {
  if (extents.at(key) == "dynamic") return {.dynamic = true};
  if (extents.at(key).is_string()) extents.complain(key, "a number or \"dynamic\"");
  return {.value = extents.integer(key, 0, max_int64)};
}

Argument::Dimension parse_dimension(const Json& json) {
  const Members members(json, "a dimension", {"extent", "factor", "divisor"});
  const std::string extent = members.text("extent");
  if (extent != "m" && extent != "n" && extent != "k") members.complain("extent", "m, n or k");
  return {extent[0], members.number("factor", 1), members.number("divisor", 1)};
}

Argument parse_argument(const Json& json) {
  const Members members(json, "an argument",
                        {"name", "access", "dtype", "shape", "symmetric", "alignment", "root_only"});
  const std::string access = members.text("access");
  if (access != "read" && access != "write") members.complain("access", "read or write");
  Argument argument{.name = members.identifier("name"),
                    .access = access == "read" ? Access::read : Access::write,
                    .dtype = members.dtype("dtype"),
                    .shape = {},
                    .symmetric = members.boolean("symmetric"),
                    .alignment = members.number("alignment", 1, 4096),
                    .root_only = members.boolean("root_only")};
  if (!members.at("shape").is_array()) members.complain("shape", "an array");
  for (const Json& dimension : members.at("shape")) argument.shape.push_back(parse_dimension(dimension));
  return argument;
}

WorkspaceSize parse_workspace(const Json& json) {
  const Members members(json, "workspace", {"fixed", "scale", "extents"});
  WorkspaceSize size{members.integer("fixed", 0, max_int64), members.integer("scale", 0, max_int64),
                     members.text("extents")};
  if (size.extents.find_first_not_of("mnk") != std::string::npos) members.complain("extents", "letters of m, n, k");
  return size;
}

/// JSON text to a value; a key given twice is an error, as nlohmann would keep either.
Json parse_text(std::string_view text) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&open](int, Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      fail("key '" + value.get<std::string>() + "' is there twice");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    fail("no JSON at byte " + std::to_string(error.byte));
  } catch (const Json::out_of_range&) {
    fail("a number is too large");
  }
}

void check_abi(const Json& json) {
  if (!json.is_object() || !json.contains("abi")) fail("this is no manifest of a kernel; it has no 'abi'");
  if (json.at("abi") == iris::device::abi_version) return;
  fail("made for ABI " + json.at("abi").dump() + ", but this irisgen launches ABI " +
       std::to_string(iris::device::abi_version) + "; generate the kernel again");
}

}  // namespace

Manifest make_manifest(const Plan& plan) {
  const KernelSpec& kernel = plan.kernel;
  return {.abi = iris::device::abi_version,
          .name = kernel.name,
          .symbol = plan.symbol,
          .target = std::string(plan.target->name),
          .spec_hash = sha256_hex(canonical_json(kernel, plan.world)),
          .source_hash = sha256_hex(emit_kernel(plan, {.self_contained = true})),
          .pattern = std::string(kernel.pattern->name),
          .variant = plan.variant,
          .dtype = kernel.dtype,
          .accumulate = kernel.accumulate,
          .op = kernel.op,
          .root = kernel.root,
          .world = plan.world,
          .blocks = plan.blocks,
          .threads = plan.threads,
          .timeout_ms = plan.timeout_ms,
          .in_place = plan.in_place,
          .flags = plan.flags,
          .workspace = plan.workspace,
          .arguments = plan.arguments,
          .m = {.value = kernel.m.value, .dynamic = kernel.m.dynamic},
          .n = {.value = kernel.n.value, .dynamic = kernel.n.dynamic},
          .k = {.value = kernel.k.value, .dynamic = kernel.k.dynamic}};
}

std::string to_json(const Manifest& manifest) {
  Json arguments = Json::array();
  for (const Argument& argument : manifest.arguments) arguments.push_back(to_json_value(argument));
  const WorkspaceSize& workspace = manifest.workspace;
  const Json json = {
      {"abi", manifest.abi},
      {"name", manifest.name},
      {"symbol", manifest.symbol},
      {"target", manifest.target},
      {"spec_hash", manifest.spec_hash},
      {"source_hash", manifest.source_hash},
      {"pattern", manifest.pattern},
      {"variant", manifest.variant},
      {"dtype", to_string(manifest.dtype)},
      {"accumulate", to_string(manifest.accumulate)},
      {"op", to_string(manifest.op)},
      {"root", manifest.root},
      {"world", manifest.world},
      {"blocks", manifest.blocks},
      {"threads", manifest.threads},
      {"timeout_ms", manifest.timeout_ms},
      {"in_place", manifest.in_place},
      {"flags", manifest.flags},
      {"workspace", {{"fixed", workspace.fixed}, {"scale", workspace.scale}, {"extents", workspace.extents}}},
      {"arguments", std::move(arguments)},
      {"extents",
       {{"m", to_json_value(manifest.m)}, {"n", to_json_value(manifest.n)}, {"k", to_json_value(manifest.k)}}},
  };
  return json.dump(2) + "\n";
}

Manifest parse_manifest(std::string_view text) {
  const Json json = parse_text(text);
  check_abi(json);
  const Members members(json, "the manifest",
                        {"abi",     "name",       "symbol",     "target", "spec_hash", "source_hash", "pattern",
                         "variant", "dtype",      "accumulate", "op",     "root",      "world",       "blocks",
                         "threads", "timeout_ms", "in_place",   "flags",  "workspace", "arguments",   "extents"});
  Manifest manifest{.abi = iris::device::abi_version,
                    .name = members.identifier("name"),
                    .symbol = members.identifier("symbol"),
                    .target = members.text("target"),
                    .spec_hash = members.sha256("spec_hash"),
                    .source_hash = members.sha256("source_hash"),
                    .pattern = members.identifier("pattern"),
                    .variant = members.identifier("variant"),
                    .dtype = members.dtype("dtype"),
                    .accumulate = members.dtype("accumulate"),
                    .op = members.op("op"),
                    .root = members.number("root", 0, iris::device::max_world - 1),
                    .world = members.number("world", 1, iris::device::max_world),
                    .blocks = members.number("blocks", 1),
                    .threads = members.number("threads", 1, 1024),
                    .timeout_ms = members.number("timeout_ms", 0),
                    .in_place = members.boolean("in_place"),
                    .flags = members.integer("flags", 0, max_int64),
                    .workspace = parse_workspace(members.at("workspace")),
                    .arguments = {},
                    .m = {},
                    .n = {},
                    .k = {}};
  if (manifest.target.empty()) members.complain("target", "a target's name");
  if (!members.at("arguments").is_array()) members.complain("arguments", "an array");
  for (const Json& argument : members.at("arguments")) manifest.arguments.push_back(parse_argument(argument));
  const Members extents(members.at("extents"), "extents", {"m", "n", "k"});
  manifest.m = parse_extent(extents, "m");
  manifest.n = parse_extent(extents, "n");
  manifest.k = parse_extent(extents, "k");
  return manifest;
}

}  // namespace irisgen
