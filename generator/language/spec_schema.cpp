#include "generator/language/spec_schema.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "generator/language/resources.hpp"
#include "generator/language/schema_node.hpp"
#include "irisgen/spec.hpp"

namespace irisgen {
namespace {

Schema read_schema() {
  const auto text = resource("schemas/spec.json");
  if (!text) throw std::logic_error("schemas/spec.json is not among the resources");
  return Schema(*text);
}

/// The property of that name, of the node or of what it refers to. The schema has it: else the program is broken.
const SchemaNode* find_property(const SchemaNode& node, std::string_view name) {
  if (const SchemaNode* own = node.property(name)) return own;
  for (const SchemaNode* part : node.all_of) {
    if (const SchemaNode* found = find_property(*part, name)) return found;
  }
  return nullptr;
}

const SchemaNode& property(const SchemaNode& node, std::string_view name) {
  const SchemaNode* found = find_property(node, name);
  if (!found) throw std::logic_error("schemas/spec.json has no property '" + std::string(name) + "'");
  return *found;
}

std::vector<std::string> words_of(const SchemaNode& node) {
  std::vector<std::string> words;
  words.reserve(node.allowed.size());
  for (const Literal& literal : node.allowed) words.push_back(std::get<std::string>(literal));
  for (const SchemaNode* part : node.all_of) {
    if (words.empty()) words = words_of(*part);
  }
  return words;
}

const SchemaNode& kernel_node() {
  return *property(*spec_schema().nodes().root, "kernels").items;
}

/// The one that is a map, of a key that takes a map or a list of maps.
const SchemaNode* as_map(const SchemaNode* node) {
  for (const SchemaNode* branch : node->any_of) {
    if (type_of(*branch) == JsonType::object) return branch;
  }
  return node->all_of.empty() ? node : as_map(node->all_of.front());
}

bool takes(const SchemaNode& then, std::string_view key) {
  const SchemaNode* node = find_property(then, key);
  return !node || !node->never;
}

PatternKeys keys_of(const SchemaNode& kernel, const SchemaNode& then) {
  PatternKeys keys;
  const SchemaNode* shape = as_map(&property(then, "shape"));
  for (const auto& [name, extent] : as_map(&property(kernel, "shape"))->all_of.front()->properties) {
    if (takes(*shape, name)) keys.extents.push_back(name);
  }
  keys.variants = words_of(property(then, "variant"));
  std::erase(keys.variants, "auto");
  if (takes(then, "shard")) keys.shards = words_of(property(kernel, "shard"));
  keys.takes_op = takes(then, "op");
  keys.takes_accumulate = takes(then, "accumulate");
  keys.takes_root = takes(then, "root");
  keys.takes_layout = takes(then, "layout");
  return keys;
}

std::map<std::string, PatternKeys, std::less<>> read_patterns() {
  std::map<std::string, PatternKeys, std::less<>> patterns;
  const SchemaNode& kernel = *kernel_node().all_of.front();
  for (const SchemaNode* part : kernel.all_of) {
    if (!part->condition || !part->condition->value) continue;  // but for kernels of the user's own
    patterns[std::get<std::string>(*part->condition->value)] = keys_of(kernel, *part->condition->then);
  }
  return patterns;
}

}  // namespace

const Schema& spec_schema() {
  static const Schema schema = read_schema();
  return schema;
}

std::vector<std::string> pattern_names() {
  return words_of(property(kernel_node(), "pattern"));
}

const PatternKeys& keys_of(std::string_view pattern) {
  static const PatternKeys of_user = {.takes_op = true, .takes_accumulate = true};
  static const auto patterns = read_patterns();
  static const PatternKeys of_barrier;
  if (pattern == user_pattern) return of_user;
  if (pattern == barrier_pattern) return of_barrier;
  const auto found = patterns.find(pattern);
  if (found == patterns.end()) throw std::out_of_range("there is no pattern '" + std::string(pattern) + "'");
  return found->second;
}

std::vector<std::string> config_keys() {
  std::vector<std::string> names;
  const SchemaNode& config = property(kernel_node(), "config");
  for (const std::string_view name : config.all_of.front()->property_names()) names.emplace_back(name);
  return names;
}

}  // namespace irisgen
