#include "irisgen/spec.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "generator/language/document.hpp"
#include "generator/language/resources.hpp"
#include "generator/language/schema.hpp"
#include "generator/language/source_text.hpp"
#include "generator/language/spec_rules.hpp"
#include "irisgen/pattern.hpp"

namespace irisgen {
namespace {

Schema read_schema() {
  const auto text = resource("schemas/spec.json");
  if (!text) throw std::logic_error("schemas/spec.json is not among the resources");
  return Schema(*text);
}

const Schema& spec_schema() {
  static const Schema schema = read_schema();
  return schema;
}

nlohmann::json to_json(const Extent& extent) {
  if (extent.dynamic) return "dynamic";
  return extent.value;
}

nlohmann::json to_json(const ConfigSpec& config) {
  nlohmann::json json = nlohmann::json::object();
  const auto add = [&](const char* key, const std::optional<int>& value) {
    if (value) json[key] = *value;
  };
  add("blocks", config.blocks);
  add("threads", config.threads);
  add("vector", config.vector);
  add("comm_blocks", config.comm_blocks);
  add("tile_m", config.tile_m);
  add("tile_n", config.tile_n);
  add("tile_k", config.tile_k);
  add("chunk", config.chunk);
  add("timeout_ms", config.timeout_ms);
  return json;
}

}  // namespace

const KernelSpec* Spec::find(std::string_view name) const {
  const auto found = std::ranges::find(kernels, name, &KernelSpec::name);
  return found == kernels.end() ? nullptr : &*found;
}

Spec parse_spec(std::string file, std::string text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  Spec spec;
  spec.file = std::move(file);
  spec.text = std::move(text);
  Report report = spec.report();
  if (auto root = parse_document(spec.text, report)) {
    spec_schema().validate(*root, report);
    spec.kernels = apply_rules(*root, report);
  }
  report.throw_if_any();
  return spec;
}

Spec read_spec(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 1 << 16> piece;
  // Up to one byte more than is allowed, so that parse_spec sees that there is too much, whatever the file is.
  while (file && text.size() <= max_text_bytes) {
    const std::size_t wanted = std::min(piece.size(), max_text_bytes + 1 - text.size());
    file.read(piece.data(), static_cast<std::streamsize>(wanted));
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad())
    throw std::runtime_error("cannot read " + path + "; check that it is a file that you may read");
  return parse_spec(path, std::move(text));
}

std::string canonical_json(const KernelSpec& kernel, int world) {
  const Pattern& pattern = *kernel.pattern;
  nlohmann::json json = {
      {"name", kernel.name}, {"pattern", pattern.name},   {"dtype", to_string(kernel.dtype)},
      {"world", world},      {"variant", kernel.variant}, {"config", to_json(kernel.config)},
  };
  if (pattern.reduces) {
    json["accumulate"] = to_string(kernel.accumulate);
    json["op"] = to_string(kernel.op);
  }
  if (pattern.rooted) json["root"] = kernel.root;
  json["shape"] = {{"m", to_json(kernel.m)}, {"n", to_json(kernel.n)}};
  if (pattern.extents.find('k') != std::string_view::npos) json["shape"]["k"] = to_json(kernel.k);
  return json.dump();
}

}  // namespace irisgen
