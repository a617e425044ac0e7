#include "generator/language/spec_rules.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "generator/language/unicode.hpp"
#include "irisgen/pattern.hpp"

namespace irisgen {
namespace {

// Keywords of C++20, alternative spellings included, and what emitted code uses at namespace scope.
constexpr auto reserved = std::to_array<std::string_view>(
    {"alignas",       "alignof",      "and",       "and_eq",       "asm",       "auto",
     "bitand",        "bitor",        "bool",      "break",        "case",      "catch",
     "char",          "char16_t",     "char32_t",  "char8_t",      "class",     "co_await",
     "co_return",     "co_yield",     "compl",     "concept",      "const",     "const_cast",
     "consteval",     "constexpr",    "constinit", "continue",     "decltype",  "default",
     "delete",        "do",           "double",    "dynamic_cast", "else",      "enum",
     "explicit",      "export",       "extern",    "false",        "float",     "for",
     "friend",        "goto",         "if",        "inline",       "int",       "iris",
     "irisgen",       "long",         "main",      "mutable",      "namespace", "new",
     "noexcept",      "not",          "not_eq",    "nullptr",      "operator",  "or",
     "or_eq",         "private",      "protected", "public",       "register",  "reinterpret_cast",
     "requires",      "return",       "short",     "signed",       "sizeof",    "static",
     "static_assert", "static_cast",  "std",       "struct",       "switch",    "template",
     "this",          "thread_local", "throw",     "true",         "try",       "typedef",
     "typeid",        "typename",     "union",     "unsigned",     "using",     "virtual",
     "void",          "volatile",     "wchar_t",   "while",        "xor",       "xor_eq",
     "errno",         "assert"});

const std::string* text_of(const Value* value) {
  return value ? value->as<std::string>() : nullptr;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return text;
}

// Depth is bounded by max_depth.
bool has_invalid(const Value& value) {
  if (const auto* array = value.as<Array>()) return std::ranges::any_of(*array, has_invalid);
  const auto* object = value.as<Object>();
  return value.invalid() || (object && std::ranges::any_of(*object, has_invalid, &Member::value));
}

// Reads one entry of `kernels:`. A member that is absent or Invalid leaves its rules unasked.
class KernelReader {
 public:
  KernelReader(const Value& kernel, Report& report) : kernel_(kernel), report_(report) {}

  KernelSpec read() {
    const std::size_t errors = report_.diagnostics().size();
    spec_.where = kernel_.where;
    if (const auto* name = text_of(kernel_.find("name"))) spec_.name = *name;
    if (const auto* pattern = text_of(kernel_.find("pattern"))) spec_.pattern = find_pattern(*pattern);
    if (const auto* variant = text_of(kernel_.find("variant"))) spec_.variant = *variant;
    spec_.variant_where = place_of("variant");
    read_name();
    read_dtype();
    read_accumulate();
    read_op();
    read_world();
    read_root();
    read_shape();
    read_config();
    refuse_unused("tune", "set 'config', or leave the choice to the Plan");
    refuse_unused("epilogue", "apply the function in a kernel of your own");
    const bool sound = !report_.full() && report_.diagnostics().size() == errors;
    // The pattern's own rules may rely on everything before them.
    if (sound && complete()) spec_.pattern->check(spec_, report_);
    return spec_;
  }

 private:
  const Member* member(std::string_view key) const {
    const auto* object = kernel_.as<Object>();
    if (!object) return nullptr;
    const auto found = std::ranges::find(*object, key, &Member::key);
    return found == object->end() ? nullptr : &*found;
  }

  bool complete() const {
    const Value* shape = kernel_.find("shape");
    const bool all = !spec_.name.empty() && spec_.pattern && dtype_ && !spec_.worlds.empty() && shape;
    return all && shape->find("n") && !has_invalid(kernel_);
  }

  // Of the value; of the kernel where the key is absent.
  Position place_of(std::string_view key) const {
    const Value* value = kernel_.find(key);
    return value ? value->where : kernel_.where;
  }

  std::string pattern_name() const { return std::string(spec_.pattern->name); }

  void read_name() {
    if (std::ranges::find(reserved, spec_.name) != reserved.end()) {
      report_.error(place_of("name"), quoted(spec_.name) + " means something in C++ already; choose another name");
    } else if (spec_.name.find("__") != std::string::npos) {
      report_.error(place_of("name"), quoted(spec_.name) +
                                          " has two underscores in a row, which C++ keeps to itself; "
                                          "choose another name");
    }
  }

  void read_dtype() {
    spec_.dtype_where = place_of("dtype");
    const auto* name = text_of(kernel_.find("dtype"));
    if (name) dtype_ = dtype_from(*name);
    if (dtype_) spec_.dtype = *dtype_;
  }

  bool is_half() const { return dtype_ == Dtype::f16 || dtype_ == Dtype::bf16; }

  // True if the kernel has the key and its pattern takes it.
  bool takes(std::string_view key, bool allowed, std::string_view why) {
    const Member* found = member(key);
    if (!found) return false;
    if (spec_.pattern && !allowed) {
      report_.error(found->where, pattern_name() + " " + std::string(why) + " '" + found->key + "'; remove it");
      return false;
    }
    return true;
  }

  void read_accumulate() {
    spec_.accumulate = is_half() ? Dtype::f32 : spec_.dtype;
    const bool reduces = spec_.pattern && spec_.pattern->reduces;
    if (!takes("accumulate", reduces, "does not reduce and takes no") || !dtype_) return;
    const auto* name = text_of(kernel_.find("accumulate"));
    const auto wanted = name ? dtype_from(*name) : std::nullopt;
    if (!wanted) return;
    std::vector<Dtype> allowed = {spec_.accumulate};
    if (is_half() || dtype_ == Dtype::f32) allowed = {Dtype::f32, Dtype::f64};
    if (std::ranges::find(allowed, *wanted) == allowed.end()) {
      std::string list(to_string(allowed.front()));
      if (allowed.size() > 1) list += " or " + std::string(to_string(allowed.back()));
      report_.error(place_of("accumulate"),
                    std::string(to_string(*dtype_)) + " does not accumulate in " + *name + "; write " + list);
      return;
    }
    spec_.accumulate = *wanted;
  }

  void read_op() {
    const bool reduces = spec_.pattern && spec_.pattern->reduces;
    if (!takes("op", reduces, "does not reduce and takes no")) return;
    const auto* name = text_of(kernel_.find("op"));
    spec_.op = name ? op_from(*name).value_or(Op::sum) : Op::sum;
  }

  void read_world() {
    const Value* world = kernel_.find("world");
    spec_.world_where = place_of("world");
    if (!world) return;
    if (const auto* one = world->as<std::int64_t>()) spec_.worlds = {static_cast<int>(*one)};
    const auto* list = world->as<Array>();
    if (!list) return;
    for (const Value& item : *list) {
      if (const auto* one = item.as<std::int64_t>()) spec_.worlds.push_back(static_cast<int>(*one));
    }
  }

  void read_root() {
    const bool rooted = spec_.pattern && spec_.pattern->rooted;
    if (!takes("root", rooted, "has no root and takes no")) return;
    const Value* root = kernel_.find("root");
    const auto* rank = root->as<std::int64_t>();
    if (!rank) return;
    spec_.root = static_cast<int>(*rank);
    const auto smallest = std::ranges::min_element(spec_.worlds);
    if (smallest == spec_.worlds.end() || spec_.root < *smallest) return;
    report_.error(root->where, "root " + std::to_string(spec_.root) + " is no rank of a world of " +
                                   std::to_string(*smallest) + "; ranks go from 0 to " + std::to_string(*smallest - 1));
  }

  void read_shape() {
    const Value* shape = kernel_.find("shape");
    spec_.shape_where = place_of("shape");
    if (!shape || !shape->as<Object>()) return;
    read_extent(*shape, "m", spec_.m);
    read_extent(*shape, "n", spec_.n);
    read_extent(*shape, "k", spec_.k);
    if (!spec_.pattern) return;
    const bool matmul = spec_.pattern->extents.find('k') != std::string_view::npos;
    if (!matmul && shape->find("k")) {
      report_.error(shape->find("k")->where, pattern_name() + " has no matmul and takes no 'k'; remove it");
      return;
    }
    for (const std::string_view key : {"m", "k"}) {
      if (!matmul || shape->find(key)) continue;
      report_.error(shape->where, "missing key '" + std::string(key) + "' of a shape; " + pattern_name() +
                                      " needs m, n and k: add it");
    }
    check_size();
  }

  void read_extent(const Value& shape, std::string_view key, Extent& extent) {
    const Value* value = shape.find(key);
    if (!value) return;
    extent.where = value->where;
    extent.dynamic = value->as<std::string>() != nullptr;
    if (const auto* number = value->as<std::int64_t>()) extent.value = *number;
  }

  // Every buffer of a pattern is at most world times two of the extents. Dynamic ones are the launch's business.
  void check_size() {
    const auto largest = std::ranges::max_element(spec_.worlds);
    const std::int64_t world = largest == spec_.worlds.end() ? 1 : *largest;
    using Pair = std::array<const Extent*, 2>;
    for (const auto& [rows, columns] : {Pair{&spec_.m, &spec_.n}, Pair{&spec_.m, &spec_.k}, Pair{&spec_.k, &spec_.n}}) {
      // The schema keeps each extent within 2^40, so that only the products need care.
      const std::int64_t limit = max_elements / world;
      if (columns->value == 0 || rows->value <= limit / columns->value) continue;
      report_.error(spec_.shape_where, "a buffer of " + std::to_string(rows->value) + " x " +
                                           std::to_string(columns->value) + " elements on each of " +
                                           std::to_string(world) +
                                           " ranks is more than 2^40 in all; make the shape smaller");
      return;
    }
  }

  void read_config() {
    const Value* config = kernel_.find("config");
    if (!config) return;
    spec_.config.where = config->where;
    const auto read = [&](std::string_view key, std::optional<int>& field) {
      const Value* value = config->find(key);
      if (!value) return;
      if (const auto* number = value->as<std::int64_t>()) field = static_cast<int>(*number);
    };
    ConfigSpec& to = spec_.config;
    read("blocks", to.blocks);
    read("threads", to.threads);
    read("vector", to.vector);
    read("comm_blocks", to.comm_blocks);
    read("tile_m", to.tile_m);
    read("tile_n", to.tile_n);
    read("tile_k", to.tile_k);
    read("chunk", to.chunk);
    read("timeout_ms", to.timeout_ms);
    check_vector(*config);
  }

  void check_vector(const Value& config) {
    constexpr std::int64_t access_bytes = 16;
    const auto vector = spec_.config.vector;
    if (!vector || !dtype_ || *vector * bytes_of(*dtype_) <= access_bytes) return;
    report_.error(config.find("vector")->where, "a vector of " + std::to_string(*vector) + " " +
                                                    std::string(to_string(*dtype_)) + " is more than 16 bytes; write " +
                                                    std::to_string(access_bytes / bytes_of(*dtype_)) + " at most");
  }

  void refuse_unused(std::string_view key, std::string_view instead) {
    const Member* found = member(key);
    if (!found || found->value.invalid()) return;
    report_.error(found->where, "'" + found->key + "' does nothing yet; remove it and " + std::string(instead));
  }

  const Value& kernel_;
  Report& report_;
  KernelSpec spec_;
  std::optional<Dtype> dtype_;
};

// Two names that differ in case alone would share their files where the file system ignores case.
void check_unique(const KernelSpec& kernel, std::map<std::string, std::string>& seen, Position where, Report& report) {
  const auto [entry, first] = seen.try_emplace(lower(kernel.name), kernel.name);
  if (first || kernel.name.empty()) return;
  const bool same = entry->second == kernel.name;
  report.error(where, same ? "another kernel is named " + quoted(kernel.name) + " already; choose another name"
                           : quoted(kernel.name) + " differs from " + quoted(entry->second) +
                                 " in upper and lower case only; choose another name");
}

}  // namespace

std::vector<KernelSpec> apply_rules(const Value& root, Report& report) {
  std::vector<KernelSpec> kernels;
  const Value* list = root.find("kernels");
  const auto* entries = list ? list->as<Array>() : nullptr;
  if (!entries) return kernels;
  std::map<std::string, std::string> names;
  for (const Value& entry : *entries) {
    if (!entry.as<Object>()) continue;
    KernelSpec kernel = KernelReader(entry, report).read();
    const Value* name = entry.find("name");
    if (name) check_unique(kernel, names, name->where, report);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace irisgen
