#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "generator/manifest/manifest_json.hpp"
#include "generator/manifest/members.hpp"
#include "iris/device/abi.hpp"
#include "iris/manifest.hpp"

namespace iris {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t max_int = std::numeric_limits<int>::max();
constexpr std::int64_t max_int64 = std::numeric_limits<std::int64_t>::max();
constexpr int max_streams = 16;

template <typename Value>
std::vector<Value> parse_all(const Members& members, const char* key, const std::function<Value(const Json&)>& parse) {
  if (!members.at(key).is_array()) members.complain(key, "an array");
  std::vector<Value> values;
  for (const Json& json : members.at(key)) values.push_back(parse(json));
  return values;
}

/// Parses a manifest's parts; each has to know what the problem's extents are.
class Reader {
 public:
  Manifest read(const Json& json) {
    const Members members(json, "the manifest",
                          {"abi", "name", "target", "spec_hash", "variant", "problem", "timeout_ms", "in_place",
                           "arguments", "intermediates", "kernels", "schedules", "checksum"});
    Manifest manifest;
    manifest.abi = device::abi_version;
    manifest.name = members.identifier("name");
    manifest.target = members.text("target");
    if (manifest.target.empty()) members.complain("target", "a target's name");
    manifest.spec_hash = members.sha256("spec_hash");
    manifest.variant = members.identifier("variant");
    manifest.problem = problem_ = parse_problem(members.at("problem"));
    manifest.timeout_ms = members.number("timeout_ms", 0);
    manifest.in_place = parse_in_place(members);
    parse_arguments(members, manifest);
    manifest.intermediates =
        parse_all<Intermediate>(members, "intermediates", [this](const Json& each) { return parse_buffer(each); });
    for (const Intermediate& buffer : manifest.intermediates) buffers_.insert(buffer.name);
    if (buffers_.size() != manifest.arguments.size() + manifest.intermediates.size())
      refuse_manifest("two buffers of one name");
    manifest.kernels =
        parse_all<KernelEntry>(members, "kernels", [this](const Json& each) { return parse_kernel(each); });
    for (const KernelEntry& kernel : manifest.kernels) {
      flags_.push_back(kernel.flags);
      waits_.push_back(kernel.waits);
    }
    manifest.schedules =
        parse_all<Schedule>(members, "schedules", [this](const Json& each) { return parse_schedule(each); });
    check_order(manifest.schedules);
    check_intact(manifest, members.sha256("checksum"));
    return manifest;
  }

 private:
  static Problem parse_problem(const Json& json) {
    const Members members(
        json, "problem",
        {"pattern", "dtype", "accumulate", "result", "op", "root", "shard", "layout_b", "world", "extents"});
    Problem problem;
    problem.pattern = members.identifier("pattern");
    problem.dtype = members.dtype("dtype");
    problem.accumulate = members.dtype("accumulate");
    problem.result = members.dtype("result");
    problem.world = members.number("world", 1, device::max_world);
    if (!members.at("op").is_null()) problem.op = members.op("op");
    if (!members.at("root").is_null()) problem.root = members.number("root", 0, problem.world - 1);
    problem.shard = members.text("shard");
    if (!members.at("layout_b").is_null()) problem.layout_b = members.layout("layout_b");
    if (!members.at("extents").is_object()) members.complain("extents", "an object");
    for (const auto& [name, value] : members.at("extents").items()) {
      problem.extents.push_back({name, parse_extent(value)});
    }
    return problem;
  }

  static InPlace parse_in_place(const Members& members) {
    const auto found = std::ranges::find(in_place_names, members.text("in_place"));
    if (found == in_place_names.end()) members.complain("in_place", "no, same_buffer or own_block");
    return static_cast<InPlace>(found - in_place_names.begin());
  }

  static Extent parse_extent(const Json& json) {
    if (json == "dynamic") return {.dynamic = true};
    const bool fits = json.is_number_integer() && !(json.is_number_unsigned() && json.get<std::uint64_t>() > max_int64);
    if (!fits || json.get<std::int64_t>() < 0) refuse_manifest("an extent must be a number or \"dynamic\"");
    return {.value = json.get<std::int64_t>()};
  }

  void check_extent(const Members& members, const char* key, const std::string& name) const {
    if (!problem_.has_extent(name)) members.complain(key, "an extent of the problem, not '" + name + "'");
  }

  Dimension parse_dimension(const Json& json) const {
    const Members members(json, "a dimension", {"extent", "factor", "divisor", "offset", "multiple"});
    const std::string extent = members.text("extent");
    if (!extent.empty()) check_extent(members, "extent", extent);
    return {extent, members.integer("factor", 1, max_int), members.integer("divisor", 1, max_int),
            members.integer("offset", extent.empty() ? 0 : -max_int, max_int), members.integer("multiple", 1, max_int)};
  }

  std::vector<Dimension> parse_shape(const Members& members, const char* key) const {
    return parse_all<Dimension>(members, key, [this](const Json& each) { return parse_dimension(each); });
  }

  /// Buffers, and numbers by value.
  void parse_arguments(const Members& members, Manifest& manifest) {
    std::set<std::string> scalars;
    if (!members.at("arguments").is_array()) members.complain("arguments", "an array");
    for (const Json& json : members.at("arguments")) {
      if (json.is_object() && json.contains("access") && json.at("access") == Json(value_access)) {
        manifest.scalars.push_back(parse_scalar(json));
        scalars.insert(manifest.scalars.back().name);
      } else {
        manifest.arguments.push_back(parse_argument(json));
        buffers_.insert(manifest.arguments.back().name);
      }
    }
    if (scalars.size() != manifest.scalars.size()) refuse_manifest("two scalars of one name");
  }

  static Scalar parse_scalar(const Json& json) {
    const Members members(json, "a scalar", {"name", "access", "dtype"});
    const auto type = scalar_type_from(members.text("dtype"));
    if (!type) members.complain("dtype", "f32, f64, i32, i64, u32, u64 or bool");
    return {.name = members.identifier("name"), .type = *type};
  }

  Argument parse_argument(const Json& json) const {
    const Members members(json, "an argument",
                          {"name", "access", "dtype", "shape", "symmetric", "alignment", "root_only", "replicated"});
    const auto access = std::ranges::find(access_names, members.text("access"));
    if (access == access_names.end()) members.complain("access", "read, write, update or value");
    std::vector<Dimension> shape = parse_shape(members, "shape");
    if (std::ranges::any_of(shape, [](const Dimension& dimension) { return dimension.multiple != 1; }))
      members.complain("shape", "dimensions that are rounded up to no multiple, since extents follow from them");
    return {.name = members.identifier("name"),
            .access = static_cast<Access>(access - access_names.begin()),
            .dtype = members.dtype("dtype"),
            .shape = std::move(shape),
            .symmetric = members.boolean("symmetric"),
            .alignment = members.number("alignment", 1, 4096),
            .root_only = members.boolean("root_only"),
            .replicated = members.boolean("replicated")};
  }

  Intermediate parse_buffer(const Json& json) const {
    const Members members(json, "an intermediate", {"name", "dtype", "shape", "symmetric"});
    return {members.identifier("name"), members.dtype("dtype"), parse_shape(members, "shape"),
            members.boolean("symmetric")};
  }

  KernelEntry parse_kernel(const Json& json) const {
    const Members members(json, "a kernel",
                          {"part", "symbol", "source_hash", "blocks", "threads", "waits", "waits_for_ranks",
                           "dependent_launch", "lets_next_begin", "flags", "workspace"});
    KernelEntry kernel{.part = members.text("part"),
                       .symbol = members.identifier("symbol"),
                       .source_hash = members.sha256("source_hash"),
                       .blocks = members.number("blocks", 1),
                       .threads = members.number("threads", 1, 1024),
                       .waits = members.boolean("waits"),
                       .waits_for_ranks = members.boolean("waits_for_ranks"),
                       .dependent_launch = members.boolean("dependent_launch"),
                       .lets_next_begin = members.boolean("lets_next_begin"),
                       .flags = members.integer("flags", 0, max_int64)};
    kernel.workspace.terms =
        parse_all<ByteSize::Term>(members, "workspace", [this](const Json& each) { return parse_term(each); });
    return kernel;
  }

  ByteSize::Term parse_term(const Json& json) const {
    const Members members(json, "a term of workspace", {"bytes", "extents"});
    ByteSize::Term term{members.integer("bytes", 0, max_int64)};
    term.extents = parse_all<std::string>(members, "extents", [&](const Json& each) {
      if (!each.is_string()) members.complain("extents", "names of extents");
      check_extent(members, "extents", each.get<std::string>());
      return each.get<std::string>();
    });
    return term;
  }

  std::string parse_buffer_name(const Members& members, const char* key, const Json& json) const {
    if (!json.is_string() || !buffers_.contains(json.get<std::string>())) {
      members.complain(key, "an argument or intermediate of the operation, not " + json.dump());
    }
    return json.get<std::string>();
  }

  MatrixMap parse_map(const Json& json) const {
    constexpr int largest_box = 256;
    constexpr std::int64_t row_bytes = 128;  // as they are swizzled
    const Members members(json, "a map", {"buffer", "dtype", "rows", "columns", "box_rows", "box_columns", "last_of"});
    const Dtype dtype = members.dtype("dtype");
    if (bytes_of(dtype) > 2 && dtype != Dtype::tf32) members.complain("dtype", "tf32 or a type of 16 or 8 bits");
    return {.buffer = parse_buffer_name(members, "buffer", members.at("buffer")),
            .dtype = dtype,
            .rows = parse_dimension(members.at("rows")),
            .columns = parse_dimension(members.at("columns")),
            .box_rows = members.number("box_rows", 1, largest_box),
            .box_columns = members.number("box_columns", 1, row_bytes / bytes_of(dtype)),
            .last_of =
                members.at("last_of").is_null() ? std::optional<Dimension>() : parse_dimension(members.at("last_of"))};
  }

  int parse_kernel_number(const Members& members) const {
    return members.number("kernel", 0, static_cast<std::int64_t>(flags_.size()) - 1);
  }

  TileCount parse_tiles(const Json& json) const {
    const Members members(json, "tiles", {"rows", "columns", "tile_rows", "tile_columns"});
    return {.rows = parse_dimension(members.at("rows")),
            .columns = parse_dimension(members.at("columns")),
            .tile_rows = members.integer("tile_rows", 1, max_int),
            .tile_columns = members.integer("tile_columns", 1, max_int)};
  }

  LaunchStep parse_launch(const Json& json) const {
    const Members members(json, "a launch", {"kernel", "buffers", "extents", "maps", "tiles"});
    LaunchStep launch{.kernel = parse_kernel_number(members)};
    launch.buffers = parse_all<std::string>(
        members, "buffers", [&](const Json& each) { return parse_buffer_name(members, "buffers", each); });
    launch.extents = parse_shape(members, "extents");
    launch.maps = parse_all<MatrixMap>(members, "maps", [this](const Json& each) { return parse_map(each); });
    if (launch.maps.size() > max_maps) members.complain("maps", std::to_string(max_maps) + " maps at most");
    if (!members.at("tiles").is_null()) launch.tiles = parse_tiles(members.at("tiles"));
    if (launch.tiles && waits_.at(static_cast<std::size_t>(launch.kernel)))
      members.complain("tiles", "null, since the kernel's blocks wait for others, which must be launched");
    return launch;
  }

  CopyStep parse_copy(const Json& json) const {
    const Members members(json, "a copy", {"from", "from_block", "to", "to_block", "peer_offset", "shape", "portion"});
    std::vector<Dimension> shape = parse_shape(members, "shape");
    if (shape.empty()) members.complain("shape", "one dimension or more");
    return {.from = parse_buffer_name(members, "from", members.at("from")),
            .from_block = parse_block(members, "from_block"),
            .to = parse_buffer_name(members, "to", members.at("to")),
            .to_block = parse_block(members, "to_block"),
            .peer_offset = members.number("peer_offset", 0, problem_.world - 1),
            .shape = std::move(shape),
            .portion = parse_portion(members.at("portion"))};
  }

  static Portion parse_portion(const Json& json) {
    const Members members(json, "a portion", {"number", "count", "granule"});
    const int count = members.number("count", 1);
    return {members.number("number", 0, count - 1), count, members.number("granule", 1)};
  }

  FlagIndex parse_flag(const Json& json) const {
    const Members members(json, "a flag", {"kernel", "first", "of"});
    const int kernel = parse_kernel_number(members);
    const BlockIndex of = parse_block(members, "of");
    const std::int64_t there = of == BlockIndex::first ? 1 : problem_.world;
    return {kernel, members.integer("first", 0, flags_[static_cast<std::size_t>(kernel)] - there), of};
  }

  SignalStep parse_signal(const Json& json) const {
    const Members members(json, "a signal", {"from", "to", "peer_offset"});
    return {.from = parse_flag(members.at("from")),
            .to = parse_flag(members.at("to")),
            .peer_offset = members.number("peer_offset", 0, problem_.world - 1)};
  }

  static BlockIndex parse_block(const Members& members, const char* key) {
    const auto found = std::ranges::find(block_names, members.text(key));
    if (found == block_names.end()) members.complain(key, "first, rank or peer");
    return static_cast<BlockIndex>(found - block_names.begin());
  }

  Step parse_step(const Json& json) const {
    for (const char* kind : {"launch", "copy", "signal", "wait"}) {
      if (!json.is_object() || !json.contains(kind)) continue;
      const Members members(json, "a step", {"stream", kind});
      Step step{.stream = members.number("stream", 0, max_streams - 1), .action = {}};
      const Json& action = members.at(kind);
      if (kind == std::string_view("launch")) {
        step.action = parse_launch(action);
      } else if (kind == std::string_view("copy")) {
        step.action = parse_copy(action);
      } else if (kind == std::string_view("signal")) {
        step.action = parse_signal(action);
      } else {
        step.action = WaitStep{Members(action, "a wait", {"stream"}).number("stream", 0, max_streams - 1)};
      }
      return step;
    }
    refuse_manifest("a step must be a launch, a copy, a signal or a wait");
  }

  Schedule parse_schedule(const Json& json) const {
    const Members members(json, "a schedule", {"up_to", "bounds", "steps"});
    Schedule schedule{.up_to = up_to_of(members)};
    schedule.steps = parse_all<Step>(members, "steps", [this](const Json& each) { return parse_step(each); });
    schedule.bounds = parse_all<Bound>(members, "bounds", [this](const Json& each) { return parse_bound(each); });
    return schedule;
  }

  static std::int64_t up_to_of(const Members& members) {
    return members.at("up_to").is_null() ? every_size : members.integer("up_to", 0, max_int64);
  }

  Bound parse_bound(const Json& json) const {
    const Members members(json, "a bound", {"extent", "up_to", "multiple_of"});
    Bound bound{members.text("extent"), up_to_of(members), members.integer("multiple_of", 1, max_int64)};
    if (!problem_.has_extent(bound.extent) || !problem_.extent(bound.extent).dynamic) {
      refuse_manifest("a bound must be one of a dynamic extent");
    }
    return bound;
  }

  /// Whether the first takes every launch that the second does.
  static bool is_wider(const Schedule& first, const Schedule& second) {
    return first.up_to >= second.up_to && std::ranges::all_of(first.bounds, [&](const Bound& bound) {
             return std::ranges::any_of(second.bounds, [&](const Bound& other) {
               return other.extent == bound.extent && other.up_to <= bound.up_to &&
                      other.multiple_of % bound.multiple_of == 0;
             });
           });
  }

  static void check_order(const std::vector<Schedule>& schedules) {
    for (auto second = schedules.begin(); second != schedules.end(); ++second) {
      const auto hides = [&](const Schedule& first) { return is_wider(first, *second); };
      if (std::any_of(schedules.begin(), second, hides))
        refuse_manifest("each schedule must take launches that none before it does");
    }
    if (schedules.empty() || schedules.back().up_to != every_size || !schedules.back().bounds.empty())
      refuse_manifest("the last schedule must take every launch");
  }

  /// A launch cannot tell that a kernel has more blocks, flags or workspace than its manifest says: it would write over
  /// what lies beside them.
  static void check_intact(const Manifest& manifest, const std::string& checksum) {
    if (checksum == checksum_of(content_of(manifest))) return;
    refuse_manifest("that of '" + manifest.name + "' for " + manifest.target +
                    " was changed since it was written; generate the kernel again");
  }

  Problem problem_;
  std::set<std::string> buffers_;
  std::vector<std::int64_t> flags_;  ///< of each kernel
  std::vector<bool> waits_;
};

/// JSON text to a value; a key given twice is an error, as nlohmann would keep either.
Json parse_text(std::string_view text) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&open](int, Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      refuse_manifest("key '" + value.get<std::string>() + "' is there twice");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    refuse_manifest("no JSON at byte " + std::to_string(error.byte));
  } catch (const Json::out_of_range&) {
    refuse_manifest("a number is too large");
  }
}

void check_abi(const Json& json) {
  if (!json.is_object() || !json.contains("abi")) refuse_manifest("this is not a manifest; it has no 'abi'");
  if (json.at("abi") == device::abi_version) return;
  refuse_manifest("made for ABI " + json.at("abi").dump() + ", but this irisgen launches ABI " +
                  std::to_string(device::abi_version) + "; generate the kernel again");
}

}  // namespace

Manifest parse_manifest(std::string_view text) {
  const Json json = parse_text(text);
  check_abi(json);
  return Reader().read(json);
}

}  // namespace iris
