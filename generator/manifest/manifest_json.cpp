#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "generator/manifest/hash.hpp"
#include "generator/manifest/manifest_json.hpp"

namespace iris {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Extent& extent) {
  return extent.dynamic ? Json("dynamic") : Json(extent.value);
}

Json json_of(const Dimension& dimension) {
  return {{"extent", dimension.extent},
          {"factor", dimension.factor},
          {"divisor", dimension.divisor},
          {"offset", dimension.offset},
          {"multiple", dimension.multiple}};
}

Json json_of(const std::vector<Dimension>& shape) {
  Json dimensions = Json::array();
  for (const Dimension& dimension : shape) dimensions.push_back(json_of(dimension));
  return dimensions;
}

Json json_of(const MatrixMap& map) {
  return {{"buffer", map.buffer},
          {"dtype", to_string(map.dtype)},
          {"rows", json_of(map.rows)},
          {"columns", json_of(map.columns)},
          {"box_rows", map.box_rows},
          {"box_columns", map.box_columns},
          {"last_of", map.last_of ? json_of(*map.last_of) : Json(nullptr)}};
}

Json json_of(const Problem& problem) {
  Json extents = Json::object();
  for (const NamedExtent& named : problem.extents) extents[named.name] = json_of(named.extent);
  return {{"pattern", problem.pattern},
          {"dtype", to_string(problem.dtype)},
          {"accumulate", to_string(problem.accumulate)},
          {"result", to_string(problem.result)},
          {"op", problem.op ? Json(to_string(*problem.op)) : Json(nullptr)},
          {"root", problem.root ? Json(*problem.root) : Json(nullptr)},
          {"shard", problem.shard},
          {"layout_b", problem.layout_b ? Json(to_string(*problem.layout_b)) : Json(nullptr)},
          {"world", problem.world},
          {"extents", std::move(extents)}};
}

Json json_of(const Argument& argument) {
  return {{"name", argument.name},
          {"access", access_names.at(static_cast<std::size_t>(argument.access))},
          {"dtype", to_string(argument.dtype)},
          {"shape", json_of(argument.shape)},
          {"symmetric", argument.symmetric},
          {"alignment", argument.alignment},
          {"root_only", argument.root_only},
          {"replicated", argument.replicated}};
}

Json json_of(const Scalar& scalar) {
  return {{"name", scalar.name}, {"access", value_access}, {"dtype", to_string(scalar.type)}};
}

Json json_of(const Intermediate& buffer) {
  return {{"name", buffer.name},
          {"dtype", to_string(buffer.dtype)},
          {"shape", json_of(buffer.shape)},
          {"symmetric", buffer.symmetric}};
}

Json json_of(const KernelEntry& kernel) {
  Json workspace = Json::array();
  for (const ByteSize::Term& term : kernel.workspace.terms) {
    workspace.push_back({{"bytes", term.bytes}, {"extents", term.extents}});
  }
  return {{"part", kernel.part},
          {"symbol", kernel.symbol},
          {"source_hash", kernel.source_hash},
          {"blocks", kernel.blocks},
          {"threads", kernel.threads},
          {"waits", kernel.waits},
          {"waits_for_ranks", kernel.waits_for_ranks},
          {"dependent_launch", kernel.dependent_launch},
          {"lets_next_begin", kernel.lets_next_begin},
          {"flags", kernel.flags},
          {"workspace", workspace}};
}

Json json_of(const TileCount& tiles) {
  return {{"rows", json_of(tiles.rows)},
          {"columns", json_of(tiles.columns)},
          {"tile_rows", tiles.tile_rows},
          {"tile_columns", tiles.tile_columns}};
}

Json json_of(const LaunchStep& launch) {
  Json maps = Json::array();
  for (const MatrixMap& map : launch.maps) maps.push_back(json_of(map));
  return {{"kernel", launch.kernel},
          {"buffers", launch.buffers},
          {"extents", json_of(launch.extents)},
          {"maps", std::move(maps)},
          {"tiles", launch.tiles ? json_of(*launch.tiles) : Json(nullptr)}};
}

Json json_of(const FlagIndex& flag) {
  return {{"kernel", flag.kernel}, {"first", flag.first}, {"of", block_names.at(static_cast<std::size_t>(flag.of))}};
}

Json json_of(const Step& step) {
  Json json = {{"stream", step.stream}};
  if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
    json["launch"] = json_of(*launch);
  } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
    json["copy"] = {
        {"from", copy->from},
        {"from_block", block_names.at(static_cast<std::size_t>(copy->from_block))},
        {"to", copy->to},
        {"to_block", block_names.at(static_cast<std::size_t>(copy->to_block))},
        {"peer_offset", copy->peer_offset},
        {"shape", json_of(copy->shape)},
        {"portion",
         {{"number", copy->portion.number}, {"count", copy->portion.count}, {"granule", copy->portion.granule}}}};
  } else if (const auto* signal = std::get_if<SignalStep>(&step.action)) {
    json["signal"] = {
        {"from", json_of(signal->from)}, {"to", json_of(signal->to)}, {"peer_offset", signal->peer_offset}};
  } else {
    json["wait"] = {{"stream", std::get<WaitStep>(step.action).stream}};
  }
  return json;
}

Json json_of(const Schedule& schedule) {
  Json steps = Json::array();
  for (const Step& step : schedule.steps) steps.push_back(json_of(step));
  Json bounds = Json::array();
  for (const Bound& bound : schedule.bounds)
    bounds.push_back(
        {{"extent", bound.extent}, {"up_to", json_of_limit(bound.up_to)}, {"multiple_of", bound.multiple_of}});
  return {{"up_to", json_of_limit(schedule.up_to)}, {"bounds", std::move(bounds)}, {"steps", std::move(steps)}};
}

template <typename Value>
Json json_of_all(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(json_of(value));
  return list;
}

}  // namespace

Json json_of_limit(std::int64_t up_to) {
  return up_to == every_size ? Json(nullptr) : Json(up_to);
}

Json content_of(const Manifest& manifest) {
  Json arguments = json_of_all(manifest.arguments);
  for (const Scalar& scalar : manifest.scalars) arguments.push_back(json_of(scalar));
  return {
      {"abi", manifest.abi},
      {"name", manifest.name},
      {"target", manifest.target},
      {"spec_hash", manifest.spec_hash},
      {"variant", manifest.variant},
      {"problem", json_of(manifest.problem)},
      {"timeout_ms", manifest.timeout_ms},
      {"in_place", in_place_names.at(static_cast<std::size_t>(manifest.in_place))},
      {"arguments", std::move(arguments)},
      {"intermediates", json_of_all(manifest.intermediates)},
      {"kernels", json_of_all(manifest.kernels)},
      {"schedules", json_of_all(manifest.schedules)},
  };
}

std::string checksum_of(const Json& content) {
  return sha256_hex(content.dump());
}

std::string to_json(const Manifest& manifest) {
  Json json = content_of(manifest);
  json["checksum"] = checksum_of(json);
  return json.dump(2) + "\n";
}

}  // namespace iris
