#include "irisgen/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "generator/language/document.hpp"
#include "generator/language/resources.hpp"
#include "generator/language/schema.hpp"
#include "generator/manifest/hash.hpp"
#include "irisgen/pattern.hpp"

namespace irisgen {
namespace {

using Json = nlohmann::ordered_json;

const Schema& tuning_schema() {
  static const Schema schema = [] {
    const auto text = resource("schemas/tuning.json");
    if (!text) throw std::logic_error("schemas/tuning.json is not among the resources");
    return Schema(*text);
  }();
  return schema;
}

std::string text_of(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value ? *value->as<std::string>() : "";
}

std::int64_t integer_of(const Value& value) {
  return *value.as<std::int64_t>();
}

double number_of(const Value& value) {
  const auto* integer = value.as<std::int64_t>();
  return integer ? static_cast<double>(*integer) : *value.as<double>();
}

/// Reports a word that is none of those that may stand there.
void check_word(const Value& word, const std::string& what, const std::vector<std::string_view>& known,
                Report& report) {
  const std::string& text = *word.as<std::string>();
  if (std::ranges::find(known, text) != known.end()) return;
  report.error(word.where, "unknown " + what + " '" + text + "'" + suggestion(text, known));
}

/// Types, as the language has them.
void read_types(const Value& entry, Problem& problem, Report& report) {
  problem.dtype = iris::dtype_from(text_of(entry, "dtype")).value();
  problem.result = iris::result_of(problem.dtype);
  problem.accumulate = iris::default_accumulate(problem.dtype);
  const Value* wanted = entry.find("accumulate");
  const auto accumulate = iris::dtype_from(text_of(entry, "accumulate"));
  if (!accumulate || *accumulate == problem.accumulate) return;
  if (problem.accumulate != Dtype::f32 || *accumulate != Dtype::f64) {
    report.error(wanted->where,
                 text_of(entry, "dtype") + " does not accumulate in " + text_of(entry, "accumulate") + "; remove it");
  }
  problem.accumulate = *accumulate;
}

/// What goes with the pattern, and has a default there.
void read_choices(const Value& entry, const PatternKeys& keys, Problem& problem, Report& report) {
  const Value* shard = entry.find("shard");
  if (!keys.shards.empty()) problem.shard = shard ? text_of(entry, "shard") : keys.shards.front();
  if (shard) check_word(*shard, "shard of " + problem.pattern, {keys.shards.begin(), keys.shards.end()}, report);
  const Value* layout = entry.find("layout");
  if (keys.takes_layout) problem.layout_b = layout ? iris::layout_from(text_of(*layout, "b")) : iris::Layout::kn;
  if (layout && !keys.takes_layout) report.error(layout->where, problem.pattern + " has no layout; remove it");
}

void read_shape(const Value& shape, const PatternKeys& keys, Problem& problem, Report& report) {
  for (const std::string& name : keys.extents) {
    const Value* extent = shape.find(name);
    if (extent) problem.extents.push_back({name, {.value = integer_of(*extent)}});
    if (!extent) report.error(shape.where, "the shape of " + problem.pattern + " lacks '" + name + "'; add it");
  }
  for (const Member& member : *shape.as<Object>()) {
    if (problem.has_extent(member.key)) continue;
    report.error(member.where, "the shape of " + problem.pattern + " has no '" + member.key + "'; remove it");
  }
}

/// What tells the entry of a kernel of the user's own, and the names of its extents, which are any.
void read_own(const Value& entry, Problem& problem, Report& report) {
  if (!entry.find("spec_hash"))
    report.error(entry.where, "an entry of a kernel of your own names it by its spec_hash; remove the entry");
  for (const Member& extent : *entry.find("shape")->as<Object>())
    problem.extents.push_back({extent.key, {.value = integer_of(extent.value)}});
}

/// Reads the problem of an entry that the schema has found right.
Problem read_problem(const Value& entry, Report& report) {
  Problem problem;
  problem.pattern = text_of(entry, "pattern");
  problem.world = static_cast<int>(integer_of(*entry.find("world")));
  read_types(entry, problem, report);
  if (problem.pattern == user_pattern) {
    read_own(entry, problem, report);
    return problem;
  }
  const std::vector<std::string> names = pattern_names();
  check_word(*entry.find("pattern"), "pattern", {names.begin(), names.end()}, report);
  if (std::ranges::find(names, problem.pattern) == names.end()) return problem;
  const PatternKeys& keys = keys_of(problem.pattern);
  read_choices(entry, keys, problem, report);
  read_shape(*entry.find("shape"), keys, problem, report);
  check_word(*entry.find("variant"), "variant of " + problem.pattern, {keys.variants.begin(), keys.variants.end()},
             report);
  return problem;
}

void check_target(const Value& owner, Report& report) {
  std::vector<std::string_view> known;
  for (const Target& target : targets()) known.push_back(target.name);
  check_word(*owner.find("target"), "target", known, report);
}

MachineRates read_machine(const Value& machine, Report& report) {
  MachineRates read{.target = text_of(machine, "target"),
                    .device = text_of(machine, "device"),
                    .driver = text_of(machine, "driver"),
                    .world = static_cast<int>(integer_of(*machine.find("world")))};
  check_target(machine, report);
  const Value& rates = *machine.find("rates");
  for (const RateField& field : rate_fields) {
    const Value& rate = *rates.find(field.name);
    read.rates.*field.value = number_of(rate);
    if (number_of(rate) <= 0) report.error(rate.where, std::string(field.name) + " must be above 0");
  }
  return read;
}

/// Of none where there is no object.
Settings settings_of(const Value* object) {
  Settings settings;
  if (!object) return settings;
  for (const Member& setting : *object->as<Object>())
    settings[setting.key] = {static_cast<int>(integer_of(setting.value)), setting.value.where};
  return settings;
}

TuningEntry read_entry(const Value& entry, Report& report) {
  TuningEntry read{.problem = read_problem(entry, report),
                   .target = text_of(entry, "target"),
                   .device = text_of(entry, "device"),
                   .driver = text_of(entry, "driver"),
                   .variant = text_of(entry, "variant"),
                   .config = settings_of(entry.find("config")),
                   .constants = settings_of(entry.find("constants")),
                   .spec_hash = text_of(entry, "spec_hash"),
                   .time_us = number_of(*entry.find("time_us")),
                   .untuned_us = number_of(*entry.find("untuned_us")),
                   .measured = static_cast<int>(integer_of(*entry.find("measured"))),
                   .complete = *entry.find("complete")->as<bool>(),
                   .kernels = text_of(entry, "kernels")};
  check_target(entry, report);
  if (const Value* variants = entry.find("variants")) {
    for (const Value& each : *variants->as<Array>()) {
      read.times_us[text_of(each, "variant")] = number_of(*each.find("time_us"));
    }
  }
  return read;
}

/// No clock of ours tells less.
double nanoseconds_kept(double microseconds) {
  return std::round(microseconds * 1000) / 1000;
}

Json to_json(const TuningEntry& entry) {
  const Problem& problem = entry.problem;
  Json json = {{"pattern", problem.pattern}, {"dtype", to_string(problem.dtype)}};
  if (problem.accumulate != iris::default_accumulate(problem.dtype)) {
    json["accumulate"] = to_string(problem.accumulate);
  }
  if (!problem.shard.empty()) json["shard"] = problem.shard;
  if (problem.layout_b) json["layout"] = {{"b", to_string(*problem.layout_b)}};
  json["world"] = problem.world;
  json["shape"] = Json::object();
  for (const auto& [name, extent] : problem.extents) json["shape"][name] = extent.value;
  json["target"] = entry.target;
  json["device"] = entry.device;
  json["driver"] = entry.driver;
  json["variant"] = entry.variant;
  json["config"] = Json::object();
  for (const auto& [key, setting] : entry.config) json["config"][key] = setting.value;
  for (const auto& [name, setting] : entry.constants) json["constants"][name] = setting.value;
  if (!entry.spec_hash.empty()) json["spec_hash"] = entry.spec_hash;
  json["time_us"] = nanoseconds_kept(entry.time_us);
  json["untuned_us"] = nanoseconds_kept(entry.untuned_us);
  json["measured"] = entry.measured;
  for (const auto& [variant, time_us] : entry.times_us) {
    json["variants"].push_back({{"variant", variant}, {"time_us", nanoseconds_kept(time_us)}});
  }
  json["complete"] = entry.complete;
  json["kernels"] = entry.kernels;
  return json;
}

Json to_json(const MachineRates& machine) {
  Json json = {
      {"target", machine.target}, {"device", machine.device}, {"driver", machine.driver}, {"world", machine.world}};
  for (const RateField& field : rate_fields) {
    json["rates"][std::string(field.name)] = nanoseconds_kept(machine.rates.*field.value);
  }
  return json;
}

/// What tells problems of one kind from those of another, whatever their size.
Problem kind_of(Problem problem) {
  problem.extents.clear();
  problem.op.reset();
  problem.root.reset();
  return problem;
}

/// The larger over the smaller; nothing where one of them is 0 and the other is not.
std::optional<double> ratio(std::int64_t a, std::int64_t b) {
  if (a == b) return 1;
  const auto [smaller, larger] = std::minmax(a, b);
  if (smaller == 0) return std::nullopt;
  return static_cast<double>(larger) / static_cast<double>(smaller);
}

/// How far the sizes of two problems of one kind are apart, as ratio(). What a pattern multiplies by is rarely another
/// matrix, while the number of its rows changes from call to call.
std::optional<double> distance(const Problem& a, const Problem& b) {
  if (find_pattern(a.pattern)->product == nullptr) return ratio(iris::size_of(a), iris::size_of(b));
  for (const auto& [name, extent] : a.extents) {
    if (name != "m" && extent != b.extent(name)) return std::nullopt;
  }
  return ratio(a.extent("m").value, b.extent("m").value);
}

}  // namespace

bool leaves_config_to_plan(const KernelSpec& kernel) {
  return std::ranges::all_of(kernel.config, [](const auto& setting) { return setting.first == "timeout_ms"; });
}

bool is_left_to_plan(const KernelSpec& kernel) {
  return (kernel.variant == "auto" || kernel.user) && leaves_config_to_plan(kernel);
}

bool is_for_tables(const KernelSpec& kernel) {
  return is_left_to_plan(kernel) && kernel.functions.none();
}

const TuningEntry* TuningTable::find(const Problem& problem, const Target& target, std::string_view device) const {
  const Problem kind = kind_of(problem);
  const TuningEntry* nearest = nullptr;
  double least = 2;
  for (const TuningEntry& entry : entries) {
    if (entry.target != target.name || (!device.empty() && entry.device != device)) continue;
    if (!entry.spec_hash.empty() || kind_of(entry.problem) != kind) continue;
    const auto apart = distance(entry.problem, problem);
    if (!apart || *apart > least || (nearest && *apart == least)) continue;
    nearest = &entry;
    least = *apart;
  }
  return nearest;
}

bool TuningTable::has_kind(const Problem& problem, const Target& target, std::string_view device) const {
  const Problem kind = kind_of(problem);
  return std::ranges::any_of(entries, [&](const TuningEntry& entry) {
    return entry.target == target.name && (device.empty() || entry.device == device) && kind_of(entry.problem) == kind;
  });
}

const TuningEntry* TuningTable::find_measured(const Problem& problem, std::string_view target, std::string_view device,
                                              std::string_view spec_hash) const {
  const Problem kind = kind_of(problem);
  const auto found = std::ranges::find_if(entries, [&](const TuningEntry& entry) {
    return entry.target == target && entry.device == device && entry.spec_hash == spec_hash &&
           entry.problem.extents == problem.extents && kind_of(entry.problem) == kind;
  });
  return found == entries.end() ? nullptr : &*found;
}

const TuningEntry* TuningTable::find_own(std::string_view spec_hash, const Target& target,
                                         std::string_view device) const {
  const auto found = std::ranges::find_if(entries, [&](const TuningEntry& entry) {
    return entry.spec_hash == spec_hash && entry.target == target.name && (device.empty() || entry.device == device);
  });
  return found == entries.end() ? nullptr : &*found;
}

const MachineRates* TuningTable::find_rates(std::string_view target, std::string_view device, int world) const {
  const auto found = std::ranges::find_if(machines, [&](const MachineRates& machine) {
    return machine.target == target && (device.empty() || machine.device == device) && machine.world == world;
  });
  return found == machines.end() ? nullptr : &*found;
}

void TuningTable::set(MachineRates machine) {
  const MachineRates* known = find_rates(machine.target, machine.device, machine.world);
  if (known == nullptr) {
    machines.push_back(std::move(machine));
  } else {
    machines[static_cast<std::size_t>(known - machines.data())] = std::move(machine);
  }
}

void TuningTable::set(TuningEntry entry) {
  const TuningEntry* known = find_measured(entry.problem, entry.target, entry.device, entry.spec_hash);
  if (known == nullptr) {
    entries.push_back(std::move(entry));
  } else {
    entries[static_cast<std::size_t>(known - entries.data())] = std::move(entry);
  }
}

TuningTable parse_tuning(const std::string& file, const std::string& text) {
  Report report(file, text);
  TuningTable table;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    report.error({1, 1}, "the tuning table is empty; remove the file, and `irisgen tune` writes it anew");
  } else if (auto root = parse_document(text, report)) {
    tuning_schema().validate(*root, report);
    report.throw_if_any();
    for (const Value& value : *root->find("entries")->as<Array>()) {
      TuningEntry entry = read_entry(value, report);
      if (table.find_measured(entry.problem, entry.target, entry.device, entry.spec_hash)) {
        report.error(value.where, "another entry is of this problem and device already; remove one of them");
      }
      table.set(std::move(entry));
    }
    if (const Value* machines = root->find("machines")) {
      for (const Value& value : *machines->as<Array>()) table.set(read_machine(value, report));
    }
  }
  report.throw_if_any();
  return table;
}

std::string to_json(const TuningTable& table) {
  std::string text = "{\"irisgen_tuning\": 1, \"entries\": [";
  for (const TuningEntry& entry : table.entries) {
    text.append(&entry == table.entries.data() ? "\n" : ",\n").append(to_json(entry).dump());
  }
  text += "\n]";
  if (!table.machines.empty()) text += ", \"machines\": [";
  for (const MachineRates& machine : table.machines) {
    text.append(&machine == table.machines.data() ? "\n" : ",\n").append(to_json(machine).dump());
  }
  return text + (table.machines.empty() ? "}\n" : "\n]}\n");
}

const TuningTable& shipped_tuning() {
  static const TuningTable table = [] {
    TuningTable all;
    for (const std::string_view path : resource_paths("generator/plan/tuning/")) {
      TuningTable table = parse_tuning(std::string(path), std::string(resource(path).value()));
      for (TuningEntry& entry : table.entries) all.set(std::move(entry));
      for (MachineRates& machine : table.machines) all.set(std::move(machine));
    }
    return all;
  }();
  return table;
}

std::string kernels_digest() {
  std::string all;
  for (const std::string_view prefix : {"iris/device/", "templates/"}) {
    for (const std::string_view path : resource_paths(prefix)) {
      all.append(path).append("\n").append(resource(path).value());
    }
  }
  constexpr std::size_t digits = 12;  // told apart by people, too
  return iris::sha256_hex(all).substr(0, digits);
}

}  // namespace irisgen
