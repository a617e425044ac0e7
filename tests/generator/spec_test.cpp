#include "irisgen/spec.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "irisgen/pattern.hpp"

namespace irisgen {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A kernel in flow style, its defaults changed by `more`, which starts with a comma.
std::string spec_with(const std::string& pattern, const std::string& shape, const std::string& more = "") {
  return "irisgen: 1\nkernels: [{name: k, pattern: " + pattern + ", dtype: f32, world: 4, shape: {" + shape + "}" +
         more + "}]\n";
}

std::string error_of(const std::string& text) {
  try {
    parse_spec("spec.yaml", text);
    return "";
  } catch (const SpecError& error) {
    return error.report().diagnostics().front().message;
  }
}

constexpr const char* gradient_sum = R"(irisgen: 1
kernels:
  - name: gradient_sum
    pattern: all_reduce
    dtype: bf16
    accumulate: f64
    op: max
    world: [2, 4, 8]
    shape: {m: dynamic, n: 85002}
    variant: two_shot
    config: {blocks: 32, threads: 512, vector: 8, timeout_ms: 100}
)";

TEST(spec, reads_every_key) {
  const Spec spec = parse_spec("spec.yaml", gradient_sum);
  EXPECT_EQ(spec.file, "spec.yaml");
  ASSERT_EQ(spec.kernels.size(), 1U);
  const KernelSpec& kernel = spec.kernels[0];
  EXPECT_EQ(kernel.name, "gradient_sum");
  EXPECT_EQ(kernel.pattern, find_pattern("all_reduce"));
  EXPECT_EQ(kernel.dtype, Dtype::bf16);
  EXPECT_EQ(kernel.accumulate, Dtype::f64);
  EXPECT_EQ(kernel.op, Op::max);
  EXPECT_EQ(kernel.worlds, (std::vector<int>{2, 4, 8}));
  EXPECT_TRUE(kernel.m.dynamic);
  EXPECT_FALSE(kernel.n.dynamic);
  EXPECT_EQ(kernel.n.value, 85002);
  EXPECT_EQ(kernel.variant, "two_shot");
  EXPECT_EQ(kernel.config.blocks, 32);
  EXPECT_EQ(kernel.config.threads, 512);
  EXPECT_EQ(kernel.config.vector, 8);
  EXPECT_EQ(kernel.config.timeout_ms, 100);
  EXPECT_FALSE(kernel.config.chunk);
}

TEST(spec, keeps_places_for_errors_found_later) {
  const Spec spec = parse_spec("spec.yaml", gradient_sum);
  const KernelSpec& kernel = spec.kernels.at(0);
  EXPECT_EQ(kernel.where, (Position{3, 5}));
  EXPECT_EQ(kernel.dtype_where, (Position{5, 12}));
  EXPECT_EQ(kernel.world_where, (Position{8, 12}));
  EXPECT_EQ(kernel.shape_where, (Position{9, 12}));
  EXPECT_EQ(kernel.m.where, (Position{9, 16}));
  EXPECT_EQ(kernel.variant_where, (Position{10, 14}));
  EXPECT_EQ(kernel.config.where, (Position{11, 13}));
}

TEST(spec, fills_in_defaults) {
  const auto kernel = [](const std::string& dtype) {
    return parse_spec("s", "{irisgen: 1, kernels: [{name: k, pattern: broadcast, dtype: " + dtype +
                               ", world: 3, shape: {n: 0}}]}")
        .kernels.at(0);
  };
  EXPECT_EQ(kernel("f16").accumulate, Dtype::f32);
  EXPECT_EQ(kernel("bf16").accumulate, Dtype::f32);
  EXPECT_EQ(kernel("f32").accumulate, Dtype::f32);
  EXPECT_EQ(kernel("f64").accumulate, Dtype::f64);
  EXPECT_EQ(kernel("i32").accumulate, Dtype::i32);
  const KernelSpec one = kernel("f32");
  EXPECT_EQ(one.op, Op::sum);
  EXPECT_EQ(one.root, 0);
  EXPECT_EQ(one.worlds, std::vector<int>{3});
  EXPECT_EQ(one.m.value, 1);
  EXPECT_FALSE(one.m.dynamic);
  EXPECT_EQ(one.n.value, 0);
  EXPECT_EQ(one.variant, "auto");
}

TEST(spec, finds_kernels_by_name) {
  const Spec spec = parse_spec("spec.yaml", gradient_sum);
  EXPECT_EQ(spec.find("gradient_sum"), spec.kernels.data());
  EXPECT_EQ(spec.find("gradient"), nullptr);
}

TEST(spec, accepts_every_pattern_with_its_extents) {
  for (const Pattern* pattern : patterns()) {
    const std::string shape = pattern->extents == "mnk" ? "m: 8, n: 8, k: 8" : "n: 8";
    EXPECT_EQ(error_of(spec_with(std::string(pattern->name), shape)), "") << pattern->name;
    EXPECT_NE(error_of(spec_with(std::string(pattern->name), "m: 8")), "") << pattern->name;
    for (const Variant& variant : pattern->variants) {
      const std::string more = ", variant: " + std::string(variant.name);
      EXPECT_EQ(error_of(spec_with(std::string(pattern->name), shape, more)), "") << pattern->name << more;
    }
  }
}

TEST(spec, takes_op_and_root_exactly_where_the_pattern_does) {
  for (const Pattern* pattern : patterns()) {
    const std::string name(pattern->name);
    const std::string shape = pattern->extents == "mnk" ? "m: 8, n: 8, k: 8" : "n: 8";
    EXPECT_EQ(error_of(spec_with(name, shape, ", op: sum")) == "", pattern->reduces) << name;
    EXPECT_EQ(error_of(spec_with(name, shape, ", accumulate: f64")) == "", pattern->reduces) << name;
    EXPECT_EQ(error_of(spec_with(name, shape, ", root: 3")) == "", pattern->rooted) << name;
  }
}

TEST(spec, pairs_each_dtype_with_the_types_it_accumulates_in) {
  const std::map<std::string, std::string> allowed = {
      {"f64", "f64"}, {"f32", "f64 f32"}, {"f16", "f64 f32"}, {"bf16", "f64 f32"}, {"i32", "i32"}};
  for (const auto& [dtype, types] : allowed) {
    for (const std::string type : {"f64", "f32", "f16", "bf16", "i32"}) {
      const std::string text = "{irisgen: 1, kernels: [{name: k, pattern: all_reduce, dtype: " + dtype +
                               ", accumulate: " + type + ", world: 2, shape: {n: 1}}]}";
      EXPECT_EQ(error_of(text) == "", (" " + types + " ").find(" " + type + " ") != std::string::npos)
          << dtype << " " << type;
    }
  }
}

TEST(spec, bounds_the_elements_of_a_buffer) {
  EXPECT_EQ(error_of(spec_with("all_reduce", "m: 262144, n: 1048576")), "");  // 2^18 · 2^20 · 4 ranks = 2^40
  EXPECT_NE(error_of(spec_with("all_reduce", "m: 262144, n: 1048577")), "");
  EXPECT_NE(error_of(spec_with("all_reduce", "m: 1099511627776, n: 1099511627776")), "");
  EXPECT_EQ(error_of(spec_with("all_reduce", "m: 0, n: 274877906944")), "");
  EXPECT_NE(error_of(spec_with("all_reduce", "n: 1099511627777")), "");
  EXPECT_NE(error_of(spec_with("all_gather_matmul", "m: 4, n: 1048576, k: 1048576")), "");
}

TEST(spec, canonical_json_has_every_default_and_one_world) {
  const Spec spec = parse_spec("s", spec_with("broadcast", "n: dynamic", ", config: {threads: 64}"));
  EXPECT_EQ(canonical_json(spec.kernels.at(0), 4),
            R"({"config":{"threads":64},"dtype":"f32","name":"k","pattern":"broadcast","root":0,)"
            R"("shape":{"m":1,"n":"dynamic"},"variant":"auto","world":4})");
  const Spec sum = parse_spec("s", gradient_sum);
  EXPECT_EQ(canonical_json(sum.kernels.at(0), 2),
            R"({"accumulate":"f64","config":{"blocks":32,"threads":512,"timeout_ms":100,"vector":8},"dtype":"bf16",)"
            R"("name":"gradient_sum","op":"max","pattern":"all_reduce","shape":{"m":"dynamic","n":85002},)"
            R"("variant":"two_shot","world":2})");
}

TEST(spec, canonical_json_does_not_depend_on_how_the_spec_is_written) {
  const Spec yaml = parse_spec("a.yaml", gradient_sum);
  const Spec json = parse_spec("b.json", R"({"kernels": [{"op": "max", "world": [8, 4, 2], "accumulate": "f64",
    "config": {"timeout_ms": 100, "vector": 8, "threads": 512, "blocks": 32}, "variant": "two_shot",
    "shape": {"n": 85002, "m": "dynamic"}, "dtype": "bf16", "pattern": "all_reduce", "name": "gradient_sum"}],
    "irisgen": 1})");
  EXPECT_EQ(canonical_json(yaml.kernels.at(0), 8), canonical_json(json.kernels.at(0), 8));
}

TEST(spec, canonical_json_is_an_entry_of_kernels) {
  for (const Pattern* pattern : patterns()) {
    const std::string shape = pattern->extents == "mnk" ? "m: 8, n: 8, k: dynamic" : "n: 8";
    const Spec spec = parse_spec("s", spec_with(std::string(pattern->name), shape));
    const std::string json = canonical_json(spec.kernels.at(0), 4);
    const Spec again = parse_spec("again", R"({"irisgen": 1, "kernels": [)" + json + "]}");
    EXPECT_EQ(canonical_json(again.kernels.at(0), 4), json);
  }
}

TEST(spec, reads_ten_megabytes) {
  std::string text = "irisgen: 1\nkernels:\n";
  int count = 0;
  while (text.size() < 10'000'000) {
    text += "  - {name: k" + std::to_string(count++) + ", pattern: all_reduce, dtype: f32, world: 8, shape: {n: 1}}\n";
  }
  EXPECT_EQ(parse_spec("big.yaml", text).kernels.size(), static_cast<std::size_t>(count));
}

TEST(spec, stops_looking_for_errors_after_a_thousand) {
  std::string text = "irisgen: 1\n";
  for (int i = 0; i < 500000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  try {
    parse_spec("big.yaml", text);
    FAIL() << "did not throw";
  } catch (const SpecError& error) {
    EXPECT_EQ(error.report().diagnostics().size(), 1000U);
  }
}

TEST(spec, reads_files) {
  const fs::path path = fs::temp_directory_path() / ("irisgen_spec_test_" + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path, std::ios::binary) << gradient_sum;
  EXPECT_EQ(read_spec(path.string()).kernels.size(), 1U);
  std::ofstream(path, std::ios::binary).close();
  EXPECT_THROW(read_spec(path.string()), SpecError);  // empty
  fs::remove(path);
  EXPECT_THROW(read_spec(path.string()), std::runtime_error);  // not there
  EXPECT_THROW(read_spec(fs::temp_directory_path().string()), std::runtime_error);
}

// errors/NAME.yaml or .json is a wrong specification, errors/NAME.txt what is said about it, to the byte.
// IRISGEN_UPDATE_GOLDENS=1 in the environment writes the .txt files instead; review them as a diff.
TEST(spec_errors, match_the_goldens) {
  const char* update = std::getenv("IRISGEN_UPDATE_GOLDENS");
  const bool write = update && std::string(update) == "1";
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(IRISGEN_SOURCE_DIR) / "tests/generator/errors")) {
    fs::path path = entry.path();
    if (path.extension() == ".txt") continue;
    ++cases;
    std::string rendered;
    try {
      parse_spec(path.filename().string(), text_of(path));
      ADD_FAILURE() << path << " was accepted";
    } catch (const SpecError& error) {
      rendered = std::string(error.what()) + "\n";
    }
    path.replace_extension(".txt");
    if (write) std::ofstream(path, std::ios::binary) << rendered;
    EXPECT_EQ(rendered, text_of(path)) << path;
  }
  EXPECT_GE(cases, 70);
}

}  // namespace
}  // namespace irisgen
