#include "iris/manifest.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "generator/language/resources.hpp"
#include "iris/device/abi.hpp"
#include "irisgen/spec.hpp"

namespace irisgen::manifest_test {
namespace {

using iris::Access;
using iris::Manifest;
using Json = nlohmann::ordered_json;

/// Every member differs from its default and, where it can, from every other.
Manifest sample() {
  return {
      .abi = iris::device::abi_version,
      .name = "gradient_sum",
      .target = "gfx942",
      .spec_hash = std::string(32, 'a') + std::string(32, '1'),
      .variant = "by_size",
      .problem = {.pattern = "all_reduce",
                  .dtype = Dtype::bf16,
                  .accumulate = Dtype::f64,
                  .result = Dtype::f32,
                  .op = Op::max,
                  .root = 3,
                  .shard = "n",
                  .layout_b = iris::Layout::nk,
                  .world = 5,
                  .extents = {{"n", {.dynamic = true}}, {"m", {.value = 6}}, {"k", {.value = 7'000'000'000}}}},
      .timeout_ms = 1234,
      .in_place = iris::InPlace::own_block,
      .arguments = {{.name = "input",
                     .access = Access::read,
                     .dtype = Dtype::bf16,
                     .shape = {{"m", 5, 2}, {"n"}},
                     .symmetric = false,
                     .alignment = 4,
                     .root_only = true,
                     .replicated = true},
                    {.name = "output",
                     .access = Access::write,
                     .dtype = Dtype::f32,
                     .shape = {{"k", 7}},
                     .symmetric = true,
                     .alignment = 16}},
      .scalars = {{"alpha", iris::ScalarType::f64}, {"steps", iris::ScalarType::u32}},
      .intermediates = {{.name = "partial", .dtype = Dtype::f64, .shape = {{"m", 3, 4, 0, 8}}, .symmetric = false}},
      .kernels = {{.part = "first",
                   .symbol = "gradient_sum_first",
                   .source_hash = std::string(32, 'b') + std::string(32, '2'),
                   .blocks = 17,
                   .threads = 448,
                   .waits = false,
                   .flags = 5'000'000'000,
                   .workspace = {{{6'000'000'000, {}}, {12, {"m", "n"}}}}},
                  {.part = "second", .symbol = "s", .source_hash = std::string(64, 'c'), .waits = false, .flags = 12}},
      .schedules = {
          {.up_to = 8'000'000'000,
           .steps = {{0,
                      iris::LaunchStep{
                          1,
                          {"input", "partial"},
                          {{"n", 2, 3, 0, 64}},
                          {{"input", Dtype::bf16, {"m"}, {"n", 2, 3}, 128, 64, iris::Dimension{"k", 3, 5, 2}}},
                          iris::TileCount{{"n", 2, 3}, {"m"}, 72, 96}}},
                     {2, iris::WaitStep{1}}},
           .bounds = {{"n", 10'000'000'000, 9'000'000'000}}},
          {.up_to = iris::every_size,
           .steps = {{3, iris::CopyStep{.from = "partial",
                                        .from_block = iris::BlockIndex::peer,
                                        .to = "output",
                                        .to_block = iris::BlockIndex::rank,
                                        .peer_offset = 4,
                                        .shape = {{"m"}},
                                        .portion = {.number = 1, .count = 3, .granule = 128}}},
                     {3, iris::SignalStep{.from = {0, 7, iris::BlockIndex::peer},
                                          .to = {1, 11, iris::BlockIndex::first},
                                          .peer_offset = 2}}}}}};
}

Json sample_json() {
  return Json::parse(to_json(sample()));
}

std::string message_of(const std::string& text) {
  try {
    iris::parse_manifest(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ManifestJson, ComesBackWithEveryMember) {
  const Manifest back = iris::parse_manifest(to_json(sample()));
  EXPECT_EQ(to_json(back), to_json(sample()));
  EXPECT_EQ(back.problem, sample().problem);
  EXPECT_EQ(back.scalars, sample().scalars);
  EXPECT_EQ(back.problem.extents.front().name, "n") << "the order of the extents was lost";
  ASSERT_EQ(back.kernels.size(), 2u);
  EXPECT_EQ(back.kernels[0].symbol, "gradient_sum_first");
  EXPECT_FALSE(back.kernels[0].waits);
  EXPECT_EQ(back.kernels[0].flags, 5'000'000'000);
  EXPECT_EQ(back.kernels[0].workspace, sample().kernels[0].workspace);
  ASSERT_EQ(back.arguments.size(), 2u);
  EXPECT_EQ(back.arguments[0].shape, sample().arguments[0].shape);
  EXPECT_TRUE(back.arguments[0].root_only);
  EXPECT_TRUE(back.arguments[0].replicated);
  EXPECT_EQ(back.arguments[1].access, Access::write);
  ASSERT_EQ(back.intermediates.size(), 1u);
  EXPECT_EQ(back.intermediates, sample().intermediates);
  ASSERT_EQ(back.schedules.size(), 2u);
  EXPECT_EQ(back.schedules[0].up_to, 8'000'000'000);
  EXPECT_EQ(back.schedules[1].up_to, iris::every_size);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back.schedules[i].steps, sample().schedules[i].steps);
    EXPECT_EQ(back.schedules[i].bounds, sample().schedules[i].bounds);
  }
}

/// Behind one that takes as much, another is never reached.
TEST(ManifestJson, HasNoScheduleThatIsNeverReached) {
  const auto accepted = [](std::int64_t first, std::int64_t second, std::vector<iris::Bound> bounds) {
    Manifest manifest = sample();
    manifest.schedules.insert(manifest.schedules.begin(), manifest.schedules.front());
    manifest.schedules[0].up_to = first;
    manifest.schedules[0].bounds = std::move(bounds);
    manifest.schedules[1].up_to = second;
    return message_of(to_json(manifest)) == "accepted";
  };
  const std::vector<iris::Bound> same = sample().schedules.front().bounds;
  EXPECT_TRUE(accepted(7, 8, same));
  EXPECT_FALSE(accepted(8, 8, same));
  EXPECT_FALSE(accepted(iris::every_size, 8, same));
  EXPECT_FALSE(accepted(iris::every_size, 8, {}));
  EXPECT_FALSE(accepted(8, 8, {{"n", iris::every_size, 9}})) << "what is a multiple of 9e9 is one of 9";
  EXPECT_FALSE(accepted(8, 8, {{"n", 11'000'000'000, 1}}));
  EXPECT_TRUE(accepted(8, 8, {{"n", iris::every_size, 7}}));
  EXPECT_TRUE(accepted(8, 8, {{"n", 9'000'000'000, 1}}));
}

TEST(ManifestJson, HasNoOpAndNoRootWhereTheProblemHasNone) {
  Manifest manifest = sample();
  manifest.problem.op = std::nullopt;
  manifest.problem.root = std::nullopt;
  EXPECT_EQ(iris::parse_manifest(to_json(manifest)).problem, manifest.problem);
}

/// The schema that a value of `schema` must follow: what a $ref or the alternative of a oneOf stands for.
Json resolved(const Json& schema, const Json& root, const Json& value) {
  if (schema.contains("$ref")) {
    return resolved(root.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), root, value);
  }
  for (const Json& alternative : schema.value("oneOf", Json::array())) {
    const Json each = resolved(alternative, root, value);
    bool fits = !value.is_object() || !each.contains("required") || value.size() >= each["required"].size();
    for (const auto& [key, member] : value.items()) fits = fits && each["properties"].contains(key);
    if (fits) return each;
  }
  return schema;
}

/// The keys of every object of a schema and of a value that should follow it are the same.
void expect_same_keys(const Json& unresolved, const Json& root, const Json& value, const std::string& where) {
  if (!value.is_structured()) return;
  const Json schema = resolved(unresolved, root, value);
  if (value.is_array()) {
    ASSERT_EQ(schema.value("type", ""), "array") << where;
    for (const Json& item : value) expect_same_keys(schema["items"], root, item, where + "[]");
    return;
  }
  ASSERT_EQ(schema.value("type", ""), "object") << where;
  if (schema["additionalProperties"].is_object()) return;  // names of the problem's own
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
      {"/target", ""},
      {"/target", 3},
      {"/spec_hash", "abc"},
      {"/variant", ""},
      {"/problem", 3},
      {"/problem/dtype", "f8"},
      {"/problem/accumulate", 1},
      {"/problem/result", nullptr},
      {"/problem/op", "avg"},
      {"/problem/root", -1},
      {"/problem/root", 5},  // of 5 ranks
      {"/problem/shard", 1},
      {"/problem/layout_b", "mn"},
      {"/problem/world", 0},
      {"/problem/world", 17},
      {"/problem/world", 2.0},
      {"/problem/world", "8"},
      {"/problem/extents/m", -1},
      {"/problem/extents/n", "dynamical"},
      {"/problem/extents/k", nullptr},
      {"/timeout_ms", -1},
      {"/in_place", true},
      {"/in_place", "yes"},
      {"/arguments", "input"},
      {"/arguments/0", nullptr},
      {"/arguments/0/access", "both"},
      {"/arguments/0/alignment", 0},
      {"/arguments/0/symmetric", "no"},
      {"/arguments/0/shape", 3},
      {"/arguments/0/shape/0/extent", "q"},
      {"/arguments/0/shape/0/divisor", 0},
      {"/arguments/0/shape/0/multiple", 64},  // tells the extent no more
      {"/arguments/1/name", "input"},
      {"/intermediates/0/name", "output"},
      {"/intermediates/0/dtype", 2},
      {"/intermediates/0/shape/0/multiple", 0},
      {"/intermediates/0/symmetric", "no"},
      {"/kernels/0/symbol", ""},
      {"/kernels/0/symbol", "a b"},
      {"/kernels/0/source_hash", std::string(64, 'G')},
      {"/kernels/0/blocks", 0},
      {"/kernels/0/blocks", 3'000'000'000},
      {"/kernels/0/threads", 1025},
      {"/kernels/0/waits", 1},
      {"/kernels/0/flags", -1},
      {"/kernels/0/flags", 18'446'744'073'709'551'615u},
      {"/kernels/0/workspace", 5},
      {"/kernels/0/workspace/0/bytes", -1},
      {"/kernels/0/workspace/1/extents", {"m", "x"}},
      {"/schedules", Json::array()},
      {"/schedules/1/up_to", 8},  // no schedule is left for larger ones
      {"/schedules/1/bounds", {{{"extent", "n"}, {"up_to", nullptr}, {"multiple_of", 2}}}},  // or for others
      {"/schedules/1/bounds", {{{"extent", "n"}, {"up_to", 7}, {"multiple_of", 1}}}},
      {"/schedules/0/bounds", {{{"extent", "n"}, {"up_to", 7}, {"multiple_of", 0}}}},
      {"/schedules/0/bounds", {{{"extent", "n"}, {"up_to", -1}, {"multiple_of", 1}}}},
      {"/schedules/0/bounds", {{{"extent", "n"}, {"multiple_of", 1}}}},
      {"/schedules/0/bounds", {{{"extent", "m"}, {"up_to", 7}, {"multiple_of", 2}}}},  // is known
      {"/schedules/0/bounds", {{{"extent", "x"}, {"up_to", 7}, {"multiple_of", 2}}}},
      {"/schedules/0/steps/0", {{"stream", 0}}},
      {"/schedules/0/steps/0/stream", 16},
      {"/schedules/0/steps/0/launch/kernel", 2},
      {"/schedules/0/steps/0/launch/buffers", {"input", "elsewhere"}},
      {"/schedules/0/steps/0/launch/tiles/tile_rows", 0},
      {"/schedules/0/steps/0/launch/tiles/columns/extent", "x"},
      {"/kernels/1/waits", true},  // for blocks that a launch in tiles might leave out
      {"/schedules/0/steps/0/launch/extents/0/extent", "q"},
      {"/schedules/0/steps/0/launch/maps", {{"a", 1}}},
      {"/schedules/0/steps/0/launch/maps",
       std::vector<Json>(6, sample_json()["schedules"][0]["steps"][0]["launch"]["maps"][0])},
      {"/schedules/0/steps/0/launch/maps/0/buffer", "elsewhere"},
      {"/schedules/0/steps/0/launch/maps/0/dtype", "f8"},
      {"/schedules/0/steps/0/launch/maps/0/dtype", "f32"},
      {"/schedules/0/steps/0/launch/maps/0/last_of", 1},
      {"/schedules/0/steps/0/launch/maps/0/rows/extent", "q"},
      {"/schedules/0/steps/0/launch/maps/0/columns/divisor", 0},
      {"/schedules/0/steps/0/launch/maps/0/box_rows", 257},
      {"/schedules/0/steps/0/launch/maps/0/box_columns", 0},
      {"/schedules/0/steps/0/launch/maps/0/box_columns", 65},
      {"/schedules/0/steps/1/wait/stream", -1},
      {"/schedules/1/steps/0/copy/from", "elsewhere"},
      {"/schedules/1/steps/0/copy/to_block", "last"},
      {"/schedules/1/steps/0/copy/peer_offset", 5},
      {"/schedules/1/steps/0/copy/shape", Json::array()},
      {"/schedules/1/steps/0/copy/portion/number", 3},
      {"/schedules/1/steps/0/copy/portion/count", 0},
      {"/schedules/1/steps/0/copy/portion/granule", 0},
      {"/schedules/1/steps/1/signal/from/kernel", 2},
      {"/schedules/1/steps/1/signal/from/first", 5'000'000'000 - 4},  // one for each of five ranks
      {"/schedules/1/steps/1/signal/from/of", "last"},
      {"/schedules/1/steps/1/signal/to/first", 12},
      {"/schedules/1/steps/1/signal/to/first", -1},
      {"/schedules/1/steps/1/signal/peer_offset", 5},
  };
  ASSERT_EQ(message_of(sample_json().dump()), "accepted");
  for (const auto& [pointer, value] : wrong) {
    Json json = sample_json();
    json[Json::json_pointer(pointer)] = value;
    const std::string message = message_of(json.dump());
    EXPECT_TRUE(message.starts_with("manifest: ")) << pointer << " = " << value;
    EXPECT_EQ(message.find("was changed"), std::string::npos) << pointer << " = " << value;
  }
}

TEST(ManifestParser, RefusesWhatWasChangedSinceItWasWritten) {
  const std::pair<const char*, Json> changed[] = {
      {"/target", "gfx950"},
      {"/problem/world", 6},
      {"/problem/extents/m", 60},
      {"/in_place", "no"},
      {"/arguments/0/alignment", 1},
      {"/arguments/1/dtype", "f16"},
      {"/intermediates/0/shape/0/divisor", 8},
      {"/intermediates/0/shape/0/multiple", 16},
      {"/kernels/0/blocks", 18},
      {"/kernels/0/threads", 32},
      {"/kernels/0/flags", 5'000'000'001},
      {"/kernels/0/workspace/0/bytes", 5},
      {"/schedules/0/up_to", 9},
      {"/schedules/0/bounds/0/up_to", 3},
      {"/schedules/0/bounds/0/multiple_of", 3},
      {"/schedules/0/steps/0/launch/tiles", nullptr},
      {"/schedules/0/steps/0/launch/buffers", {"partial", "input"}},
      {"/schedules/1/steps/0/copy/to_block", "first"},
      {"/checksum", std::string(64, 'd')},
  };
  for (const auto& [pointer, value] : changed) {
    Json json = sample_json();
    json[Json::json_pointer(pointer)] = value;
    const std::string target = json["target"];
    EXPECT_EQ(message_of(json.dump()), "manifest: that of 'gradient_sum' for " + target +
                                           " was changed since it was written; generate the kernel again")
        << pointer;
  }
}

TEST(ManifestParser, DoesNotMindHowTheTextIsLaidOut) {
  Json sorted = Json::object();
  const auto by_name = nlohmann::json::parse(to_json(sample()));
  for (const auto& [key, value] : by_name.items()) sorted[key] = sample_json()[key];
  EXPECT_EQ(message_of(sorted.dump()), "accepted");
}

TEST(ManifestParser, SaysWhatAnotherAbiMeans) {
  Json json = sample_json();
  json["abi"] = iris::device::abi_version + 1;
  const std::string message = message_of(json.dump());
  EXPECT_NE(message.find("generate the kernel again"), std::string::npos) << message;
}

TEST(ManifestParser, RefusesWhatIsNoManifest) {
  EXPECT_EQ(message_of(""), "manifest: no JSON at byte 1");
  EXPECT_EQ(message_of("[1, 2]"), "manifest: this is not a manifest; it has no 'abi'");
  EXPECT_EQ(message_of("{}"), "manifest: this is not a manifest; it has no 'abi'");
  EXPECT_EQ(message_of(R"({"abi": 1e999})"), "manifest: a number is too large");
  EXPECT_EQ(message_of(R"({"abi": 1, "abi": 1})"), "manifest: key 'abi' is there twice");
  EXPECT_NE(message_of(std::string("\x7f\x45LF\0\0", 6)), "accepted");
  EXPECT_NE(message_of(std::string(10'000, '[')), "accepted");
}

}  // namespace
}  // namespace irisgen::manifest_test
