#include "generator/language/spec_rules.hpp"

#include <algorithm>
#include <map>

#include "generator/language/function_rules.hpp"
#include "generator/language/names.hpp"
#include "generator/language/unicode.hpp"
#include "generator/language/user_rules.hpp"

namespace irisgen {
namespace {

/// Builds that lists make of one entry: few lines of text must not ask for millions.
constexpr std::size_t most_builds = 1024;

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

// Reads one entry of `kernels:`: a kernel for each of its dtypes and shapes. A member that is absent or Invalid leaves
// its rules unasked.
class KernelReader {
 public:
  KernelReader(const Value& kernel, Report& report) : kernel_(kernel), report_(report) {}

  std::vector<KernelSpec> read() {
    const std::size_t errors = report_.diagnostics().size();
    KernelSpec common;
    common.where.kernel = kernel_.where;
    if (const auto* name = text_of(kernel_.find("name"))) common.written_name = *name;
    if (const auto* pattern = text_of(kernel_.find("pattern"))) common.problem.pattern = *pattern;
    if (const auto* variant = text_of(kernel_.find("variant"))) common.variant = *variant;
    common.where.name = place_of("name");
    common.where.variant = place_of("variant");
    check_name(common.written_name);
    read_world(common);
    common.user = read_user_kernel(kernel_, report_);
    common.functions = read_user_functions(kernel_, report_);
    if (common.user) {
      common.problem.pattern = user_pattern;
      common.variant = "source";
    } else if (!has_pattern()) {
      return {};
    }
    keys_ = &keys_of(common.problem.pattern);
    read_choices(common);
    read_config(common);
    read_tune(common);

    std::vector<KernelSpec> kernels;
    const std::vector<const Value*> dtypes = alternatives("dtype");
    const std::vector<const Value*> shapes = alternatives("shape");
    if (const std::size_t builds = dtypes.size() * shapes.size() * common.worlds.size(); builds > most_builds) {
      report_.error(place_of("name"), "the lists of dtype, shape and world make " + std::to_string(builds) +
                                          " builds of this entry, and " + std::to_string(most_builds) +
                                          " are the most; divide it among several");
      return {};
    }
    for (const Value* dtype : dtypes) {
      for (const Value* shape : shapes) kernels.push_back(read_one(common, *dtype, *shape));
    }
    const bool sound = !report_.full() && report_.diagnostics().size() == errors && !has_invalid(kernel_);
    return sound ? kernels : std::vector<KernelSpec>{};
  }

 private:
  const Member* member(std::string_view key) const {
    const auto* object = kernel_.as<Object>();
    if (!object) return nullptr;
    const auto found = std::ranges::find(*object, key, &Member::key);
    return found == object->end() ? nullptr : &*found;
  }

  // Of the value; of the kernel where the key is absent.
  Position place_of(std::string_view key) const {
    const Value* value = kernel_.find(key);
    return value ? value->where : kernel_.where;
  }

  bool has_pattern() const {
    const auto* pattern = text_of(kernel_.find("pattern"));
    const std::vector<std::string> names = pattern_names();
    return pattern && std::ranges::find(names, *pattern) != names.end();
  }

  bool is_list(std::string_view key) const {
    const Value* value = kernel_.find(key);
    return value && value->as<Array>();
  }

  // The entries of a list, or the value that stands for a list of one.
  std::vector<const Value*> alternatives(std::string_view key) const {
    std::vector<const Value*> values;
    const Value* value = kernel_.find(key);
    if (value && value->as<Array>()) {
      for (const Value& item : *value->as<Array>()) values.push_back(&item);
    } else if (value) {
      values.push_back(value);
    }
    return values;
  }

  void check_name(const std::string& name) {
    if (is_reserved(name)) {
      report_.error(place_of("name"), in_quotes(name) + " means something in C++ already; choose another name");
    } else if (is_for_macros(name)) {
      report_.error(place_of("name"),
                    in_quotes(name) + " is in capitals alone, as C keeps them for macros; write it in small letters");
    } else if (name.find("__") != std::string::npos) {
      report_.error(place_of("name"), in_quotes(name) +
                                          " has two underscores in a row, which C++ keeps to itself; "
                                          "choose another name");
    }
  }

  void read_world(KernelSpec& kernel) const {
    kernel.where.world = place_of("world");
    for (const Value* world : alternatives("world")) {
      if (const auto* number = world->as<std::int64_t>()) kernel.worlds.push_back(static_cast<int>(*number));
    }
    if (!kernel.worlds.empty()) kernel.problem.world = kernel.worlds.front();
  }

  // What goes with the pattern, and has a default there.
  void read_choices(KernelSpec& kernel) {
    Problem& problem = kernel.problem;
    if (keys_->takes_op && !kernel.user) problem.op = Op::sum;
    if (const auto* op = text_of(kernel_.find("op"))) problem.op = iris::op_from(*op);
    if (kernel.functions.operation) {
      problem.op = Op::function;
      if (kernel.user)
        report_.error(place_of("op"), "a kernel of your own calls its operations itself; remove 'op' or write a word");
    }
    if (!keys_->shards.empty()) problem.shard = keys_->shards.front();
    if (const auto* shard = text_of(kernel_.find("shard"))) problem.shard = *shard;
    if (keys_->takes_layout) problem.layout_b = iris::Layout::kn;
    const Value* layout = kernel_.find("layout");
    const auto* of_b = layout ? text_of(layout->find("b")) : nullptr;
    if (of_b) problem.layout_b = iris::layout_from(*of_b);
    if (keys_->takes_root) problem.root = 0;
    const Value* root = kernel_.find("root");
    const auto* rank = root ? root->as<std::int64_t>() : nullptr;
    if (!rank) return;
    problem.root = static_cast<int>(*rank);
    const auto smallest = std::ranges::min_element(kernel.worlds);
    if (smallest == kernel.worlds.end() || *rank < *smallest) return;
    const std::string origin = kernel.where.world == world_option ? " (--world)" : "";
    report_.error(root->where, "root " + std::to_string(*rank) + " is not a rank of a world of " +
                                   std::to_string(*smallest) + origin + "; ranks go from 0 to " +
                                   std::to_string(*smallest - 1));
  }

  void read_config(KernelSpec& kernel) const {
    const Value* config = kernel_.find("config");
    const auto* object = config ? config->as<Object>() : nullptr;
    if (!object) return;
    kernel.where.config = config->where;
    for (const Member& setting : *object) {
      if (const auto* number = setting.value.as<std::int64_t>()) {
        kernel.config[setting.key] = {static_cast<int>(*number), setting.value.where};
      }
    }
  }

  void read_tune(KernelSpec& kernel) const {
    const Value* tune = kernel_.find("tune");
    const auto* object = tune ? tune->as<Object>() : nullptr;
    if (!object) return;
    for (const Member& key : *object) {
      if (kernel.config.contains(key.key)) {
        report_.error(key.where, "config sets " + in_quotes(key.key) + " already; remove it there to have it tuned");
      }
      const auto* values = key.value.as<Array>();
      if (!values) continue;
      for (const Value& value : *values) {
        const auto* number = value.as<std::int64_t>();
        if (number) kernel.tune[key.key].push_back({static_cast<int>(*number), value.where});
      }
    }
  }

  KernelSpec read_one(const KernelSpec& common, const Value& dtype, const Value& shape) {
    KernelSpec kernel = common;
    kernel.name = common.written_name;
    kernel.where.shape = shape.where;
    const auto* name = text_of(&dtype);
    const auto known = name ? iris::dtype_from(*name) : std::nullopt;
    if (known) read_types(kernel.problem, *known);
    if (known && is_list("dtype")) kernel.name += "_" + *name;
    if (!shape.as<Object>()) return kernel;
    read_shape(kernel, shape);
    if (known) check_vector(kernel);
    return kernel;
  }

  void read_types(Problem& problem, Dtype dtype) {
    problem.dtype = dtype;
    problem.result = iris::result_of(dtype);
    if (iris::is_of_operands(dtype) && !keys_->takes_layout) {
      const auto* pattern = text_of(kernel_.find("pattern"));
      report_.error(place_of("dtype"), std::string(to_string(dtype)) + " is a type of the operands of products, and " +
                                           (pattern ? *pattern : "a kernel of your own") + " has none; write " +
                                           (dtype == Dtype::tf32 ? "f32" : "f16 or bf16"));
    }
    problem.accumulate = iris::default_accumulate(dtype);
    const auto* name = text_of(kernel_.find("accumulate"));
    const auto wanted = name ? iris::dtype_from(*name) : std::nullopt;
    if (!wanted) return;
    std::vector<Dtype> allowed = {problem.accumulate};
    if (problem.accumulate == Dtype::f32) allowed = {Dtype::f32, Dtype::f64};
    if (std::ranges::find(allowed, *wanted) == allowed.end()) {
      std::string list(to_string(allowed.front()));
      if (allowed.size() > 1) list += " or " + std::string(to_string(allowed.back()));
      report_.error(place_of("accumulate"),
                    std::string(to_string(dtype)) + " does not accumulate in " + *name + "; write " + list);
    }
    problem.accumulate = *wanted;
  }

  // In the pattern's order, whatever the description's; a kernel of the user's own has none but the latter.
  std::vector<std::string> extents_of(const KernelSpec& kernel, const Value& shape) const {
    if (!kernel.user) return keys_->extents;
    std::vector<std::string> names;
    for (const Member& member : *shape.as<Object>()) names.push_back(member.key);
    return names;
  }

  // An extent that may be left out is 1.
  void read_shape(KernelSpec& kernel, const Value& shape) {
    for (const std::string& name : extents_of(kernel, shape)) {
      const Value* value = shape.find(name);
      iris::Extent extent;
      if (value) {
        kernel.where.extents[name] = value->where;
        extent.dynamic = value->as<std::string>() != nullptr;
        if (const auto* number = value->as<std::int64_t>()) extent.value = *number;
        if (is_list("shape")) kernel.name += "_" + name + (extent.dynamic ? "_dynamic" : std::to_string(extent.value));
      }
      kernel.problem.extents.push_back({name, extent});
    }
    check_size(kernel);
  }

  // Every buffer of a pattern is at most world times two of the extents. Dynamic ones are the launch's business, and
  // buffers of a user's kernel the Plan's.
  void check_size(const KernelSpec& kernel) {
    if (kernel.user) return;
    const auto largest = std::ranges::max_element(kernel.worlds);
    const std::int64_t world = largest == kernel.worlds.end() ? 1 : *largest;
    const auto& extents = kernel.problem.extents;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      for (std::size_t j = i + 1; j < extents.size(); ++j) {
        // The schema keeps each extent within 2^40, so that only the products need care.
        const std::int64_t rows = extents[i].extent.value;
        const std::int64_t columns = extents[j].extent.value;
        if (columns == 0 || rows <= max_elements / world / columns) continue;
        report_.error(kernel.where.shape, "a buffer of " + std::to_string(rows) + " x " + std::to_string(columns) +
                                              " elements on each of " + std::to_string(world) +
                                              " ranks is more than 2^40 in all; make the shape smaller");
        return;
      }
    }
  }

  void check_vector(const KernelSpec& kernel) {
    constexpr std::int64_t access_bytes = 16;
    const auto vector = kernel.config.find("vector");
    const std::int64_t bytes = iris::bytes_of(kernel.problem.dtype);
    if (vector == kernel.config.end() || vector->second.value * bytes <= access_bytes) return;
    report_.error(vector->second.where, "a vector of " + std::to_string(vector->second.value) + " " +
                                            std::string(to_string(kernel.problem.dtype)) +
                                            " is more than 16 bytes; write " + std::to_string(access_bytes / bytes) +
                                            " at most");
  }

  const Value& kernel_;
  Report& report_;
  const PatternKeys* keys_ = nullptr;
};

// Names as they will be, of files and symbols, and where each stands.
class Names {
 public:
  explicit Names(Report& report) : report_(report) {}

  // Two names that differ in case alone would share their files where the file system ignores case; two that differ in
  // underscores and capitals only would meet in one class.
  void add(const std::string& name, Position where) {
    if (name.empty()) return;
    const auto [entry, first] = seen_.try_emplace(lower(name), name);
    const auto [owner, is_new] = classes_.try_emplace(class_name(name), name);
    if (!first) {
      const bool same = entry->second == name;
      report_.error(where, same ? "another kernel is named " + in_quotes(name) + " already; choose another name"
                                : in_quotes(name) + " differs from " + in_quotes(entry->second) +
                                      " in upper and lower case only; choose another name");
    } else if (!is_new) {
      report_.error(where, "kernels " + in_quotes(owner->second) + " and " + in_quotes(name) +
                               " would share the launcher's class " + owner->first + "; rename one");
    }
  }

 private:
  Report& report_;
  std::map<std::string, std::string> seen_;
  std::map<std::string, std::string> classes_;
};

}  // namespace

std::vector<KernelSpec> apply_rules(const Value& root, Report& report) {
  std::vector<KernelSpec> kernels;
  const Value* list = root.find("kernels");
  const auto* entries = list ? list->as<Array>() : nullptr;
  if (!entries) return kernels;
  Names names(report);
  for (const Value& entry : *entries) {
    if (!entry.as<Object>()) continue;
    const std::vector<KernelSpec> expanded = KernelReader(entry, report).read();
    const Value* name = entry.find("name");
    if (expanded.empty() && text_of(name)) names.add(*text_of(name), name->where);
    for (const KernelSpec& kernel : expanded) names.add(kernel.name, kernel.where.name);
    kernels.insert(kernels.end(), expanded.begin(), expanded.end());
  }
  return kernels;
}

}  // namespace irisgen
