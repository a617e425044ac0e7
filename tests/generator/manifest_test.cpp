#include "iris/manifest.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include <iris/device/abi.hpp>
#include "generator/language/resources.hpp"

#include "tests/generator/samples.hpp"

namespace irisgen {
namespace {

using Json = nlohmann::json;

/// Every member differs from its default and from every other.
Manifest sample() {
  return {.abi = iris::device::abi_version,
          .name = "gradient_sum",
          .symbol = "gradient_sum_ring_bf16_max_w5",
          .target = "gfx942",
          .spec_hash = std::string(32, 'a') + std::string(32, '1'),
          .source_hash = std::string(32, 'b') + std::string(32, '2'),
          .pattern = "all_reduce",
          .variant = "ring",
          .dtype = Dtype::bf16,
          .accumulate = Dtype::f64,
          .op = Op::max,
          .root = 3,
          .world = 5,
          .blocks = 17,
          .threads = 448,
          .timeout_ms = 1234,
          .in_place = false,
          .flags = 5'000'000'000,
          .workspace = {.fixed = 6'000'000'000, .scale = 12, .extents = "mn"},
          .arguments = {{.name = "input",
                         .access = Access::read,
                         .dtype = Dtype::bf16,
                         .shape = {{.extent = 'm', .factor = 5, .divisor = 2}, {.extent = 'n'}},
                         .symmetric = false,
                         .alignment = 4,
                         .root_only = true},
                        {.name = "output",
                         .access = Access::write,
                         .dtype = Dtype::f32,
                         .shape = {{.extent = 'k', .factor = 7}},
                         .symmetric = true,
                         .alignment = 16}},
          .m = {.value = 6},
          .n = {.dynamic = true},
          .k = {.value = 7'000'000'000}};
}

Json sample_json() {
  return Json::parse(to_json(sample()));
}

std::string message_of(const std::string& text) {
  try {
    parse_manifest(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ManifestJson, ComesBackWithEveryMember) {
  const Manifest back = parse_manifest(to_json(sample()));
  EXPECT_EQ(to_json(back), to_json(sample()));
  EXPECT_EQ(back.symbol, "gradient_sum_ring_bf16_max_w5");
  EXPECT_EQ(back.accumulate, Dtype::f64);
  EXPECT_EQ(back.op, Op::max);
  EXPECT_EQ(back.flags, 5'000'000'000);
  EXPECT_EQ(back.workspace.fixed, 6'000'000'000);
  EXPECT_EQ(back.workspace.extents, "mn");
  ASSERT_EQ(back.arguments.size(), 2u);
  EXPECT_EQ(back.arguments[0].shape[0].factor, 5);
  EXPECT_EQ(back.arguments[0].shape[0].divisor, 2);
  EXPECT_TRUE(back.arguments[0].root_only);
  EXPECT_EQ(back.arguments[1].access, Access::write);
  EXPECT_TRUE(back.n.dynamic);
  EXPECT_EQ(back.k.value, 7'000'000'000);
}

/// The keys of every object of a schema and of a value that should follow it are the same.
void expect_same_keys(const Json& schema, const Json& root, const Json& value, const std::string& where) {
  if (schema.contains("$ref")) {
    const std::string path = schema["$ref"].get<std::string>().substr(1);
    return expect_same_keys(root.at(Json::json_pointer(path)), root, value, where);
  }
  if (value.is_array()) {
    ASSERT_EQ(schema.value("type", ""), "array") << where;
    for (const Json& item : value) expect_same_keys(schema["items"], root, item, where + "[]");
  }
  if (!value.is_object()) return;
  ASSERT_EQ(schema.value("type", ""), "object") << where;
  EXPECT_FALSE(schema.value("additionalProperties", true)) << where;
  std::set<std::string> described;
  for (const auto& [key, rule] : schema["properties"].items()) described.insert(key);
  std::set<std::string> present;
  for (const auto& [key, member] : value.items()) present.insert(key);
  EXPECT_EQ(described, present) << where;
  EXPECT_EQ(schema["required"].get<std::set<std::string>>(), present) << where;
  for (const auto& [key, member] : value.items()) {
    expect_same_keys(schema["properties"][key], root, member, where + "." + key);
  }
}

TEST(ManifestJson, HasTheKeysOfItsSchemaAndNoOther) {
  const Json schema = Json::parse(resource("schemas/manifest.json").value());
  EXPECT_EQ(schema["$schema"], "http://json-schema.org/draft-07/schema#");
  expect_same_keys(schema, schema, sample_json(), "manifest");
}

TEST(MakeManifest, SaysWhatWasPlanned) {
  const Plan plan = plan_of(
      "{name: a, pattern: reduce_scatter, dtype: f16, accumulate: f64, op: min, world: 3, shape: {m: 4, n: dynamic}, "
      "config: {blocks: 5, threads: 96, timeout_ms: 250}}",
      "host");
  const Manifest manifest = make_manifest(plan);
  EXPECT_EQ(manifest.name, "a");
  EXPECT_EQ(manifest.symbol, "a_direct_f16_min_w3_m4_dynamic_n");
  EXPECT_EQ(manifest.target, "host");
  EXPECT_EQ(manifest.pattern, "reduce_scatter");
  EXPECT_EQ(manifest.variant, "direct");
  EXPECT_EQ(manifest.dtype, Dtype::f16);
  EXPECT_EQ(manifest.accumulate, Dtype::f64);
  EXPECT_EQ(manifest.op, Op::min);
  EXPECT_EQ(manifest.world, 3);
  EXPECT_EQ(manifest.blocks, 5);
  EXPECT_EQ(manifest.threads, 96);
  EXPECT_EQ(manifest.timeout_ms, 250);
  EXPECT_FALSE(manifest.in_place);
  EXPECT_EQ(manifest.flags, 15);
  EXPECT_EQ(manifest.m.value, 4);
  EXPECT_FALSE(manifest.m.dynamic);
  EXPECT_TRUE(manifest.n.dynamic);
}

TEST(MakeManifest, SaysTheRootAndTheWorkspace) {
  EXPECT_EQ(
      make_manifest(plan_of("{name: a, pattern: broadcast, dtype: f32, root: 2, world: 3, shape: {n: 7}}", "host"))
          .root,
      2);
  const Manifest one_shot = make_manifest(
      plan_of("{name: a, pattern: all_reduce, variant: one_shot, dtype: f32, world: 3, shape: {n: 100}}", "host"));
  EXPECT_TRUE(one_shot.in_place);
  EXPECT_EQ(one_shot.workspace.fixed, 2 * 1280);  // 3 slots of 400 bytes, rounded up to 256
}

TEST(ManifestParser, NamesAMissingAndAnUnknownKey) {
  const Json whole = sample_json();
  for (const auto& [key, value] : whole.items()) {
    if (key == "abi") continue;
    Json json = whole;
    json.erase(key);
    EXPECT_EQ(message_of(json.dump()), "manifest: key '" + key + "' is missing in the manifest");
  }
  Json json = whole;
  json["blokcs"] = 3;
  EXPECT_EQ(message_of(json.dump()), "manifest: unknown key 'blokcs' in the manifest");
  json = sample_json();
  json["arguments"][1]["shape"][0]["stride"] = 3;
  EXPECT_EQ(message_of(json.dump()), "manifest: unknown key 'stride' in a dimension");
}

TEST(ManifestParser, RefusesWrongTypesAndRanges) {
  const std::pair<const char*, Json> wrong[] = {
      {"/name", "1st"},
      {"/symbol", ""},
      {"/symbol", "a b"},
      {"/target", ""},
      {"/target", 3},
      {"/spec_hash", "abc"},
      {"/source_hash", std::string(64, 'G')},
      {"/dtype", "f8"},
      {"/accumulate", 1},
      {"/op", "avg"},
      {"/root", -1},
      {"/root", 16},
      {"/world", 0},
      {"/world", 17},
      {"/world", 2.0},
      {"/world", "8"},
      {"/blocks", 0},
      {"/blocks", 3'000'000'000},
      {"/threads", 1025},
      {"/timeout_ms", -1},
      {"/in_place", 1},
      {"/flags", -1},
      {"/flags", 18'446'744'073'709'551'615u},
      {"/workspace", 5},
      {"/workspace/extents", "mx"},
      {"/arguments", "input"},
      {"/arguments/0", nullptr},
      {"/arguments/0/access", "both"},
      {"/arguments/0/alignment", 0},
      {"/arguments/0/symmetric", "no"},
      {"/arguments/0/shape", 3},
      {"/arguments/0/shape/0/extent", "q"},
      {"/arguments/0/shape/0/divisor", 0},
      {"/extents/m", -1},
      {"/extents/n", "dynamical"},
      {"/extents/k", nullptr},
  };
  for (const auto& [pointer, value] : wrong) {
    Json json = sample_json();
    json[Json::json_pointer(pointer)] = value;
    EXPECT_TRUE(message_of(json.dump()).starts_with("manifest: ")) << pointer << " = " << value;
  }
}

TEST(ManifestParser, SaysWhatAnotherAbiMeans) {
  Json json = sample_json();
  json["abi"] = iris::device::abi_version + 1;
  const std::string message = message_of(json.dump());
  EXPECT_NE(message.find("generate the kernel again"), std::string::npos) << message;
}

TEST(ManifestParser, RefusesWhatIsNoManifest) {
  EXPECT_EQ(message_of(""), "manifest: no JSON at byte 1");
  EXPECT_EQ(message_of("[1, 2]"), "manifest: this is no manifest of a kernel; it has no 'abi'");
  EXPECT_EQ(message_of("{}"), "manifest: this is no manifest of a kernel; it has no 'abi'");
  EXPECT_EQ(message_of(R"({"abi": 1e999})"), "manifest: a number is too large");
  EXPECT_EQ(message_of(R"({"abi": 1, "abi": 1})"), "manifest: key 'abi' is there twice");
  EXPECT_NE(message_of(std::string("\x7f\x45LF\0\0", 6)), "accepted");
  EXPECT_NE(message_of(std::string(10'000, '[')), "accepted");
}

}  // namespace
}  // namespace irisgen
