#include "irisgen/spec.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "spec_samples.hpp"

namespace irisgen::spec_test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
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
  EXPECT_EQ(kernel.written_name, "gradient_sum");
  EXPECT_EQ(kernel.problem.pattern, "all_reduce");
  EXPECT_EQ(kernel.problem.dtype, Dtype::bf16);
  EXPECT_EQ(kernel.problem.result, Dtype::bf16);
  EXPECT_EQ(kernel.problem.accumulate, Dtype::f64);
  EXPECT_EQ(kernel.problem.op, Op::max);
  EXPECT_EQ(kernel.problem.root, std::nullopt);
  EXPECT_EQ(kernel.worlds, (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(kernel.problem.world, 2);
  EXPECT_TRUE(kernel.problem.extent("m").dynamic);
  EXPECT_FALSE(kernel.problem.extent("n").dynamic);
  EXPECT_EQ(kernel.problem.extent("n").value, 85002);
  EXPECT_EQ(kernel.variant, "two_shot");
  std::map<std::string, int> config;
  for (const auto& [key, setting] : kernel.config) config[key] = setting.value;
  EXPECT_EQ(config, (std::map<std::string, int>{{"blocks", 32}, {"threads", 512}, {"vector", 8}, {"timeout_ms", 100}}));
}

TEST(spec, keeps_places_for_errors_found_later) {
  const Spec spec = parse_spec("spec.yaml", gradient_sum);
  const KernelSpec& kernel = spec.kernels.at(0);
  EXPECT_EQ(kernel.where.kernel, (Position{3, 5}));
  EXPECT_EQ(kernel.where.name, (Position{3, 11}));
  EXPECT_EQ(kernel.where.world, (Position{8, 12}));
  EXPECT_EQ(kernel.where.shape, (Position{9, 12}));
  EXPECT_EQ(kernel.where.extents.at("m"), (Position{9, 16}));
  EXPECT_EQ(kernel.where.variant, (Position{10, 14}));
  EXPECT_EQ(kernel.where.config, (Position{11, 13}));
  EXPECT_EQ(kernel.config.at("threads").where, (Position{11, 35}));
}

TEST(spec, fills_in_defaults_of_the_language) {
  const auto kernel = [](const std::string& pattern, const std::string& dtype) {
    return parse_spec("s", "{irisgen: 1, kernels: [{name: k, pattern: " + pattern + ", dtype: " + dtype +
                               ", world: 3, shape: {n: 0}}]}")
        .kernels.at(0);
  };
  for (const Dtype dtype : iris::all_dtypes) {
    if (iris::is_of_operands(dtype)) continue;
    const Problem problem = kernel("all_reduce", std::string(to_string(dtype))).problem;
    EXPECT_EQ(problem.accumulate, iris::default_accumulate(dtype)) << to_string(dtype);
    EXPECT_EQ(problem.result, dtype);
    EXPECT_EQ(problem.op, Op::sum);
    EXPECT_EQ(problem.root, std::nullopt);
  }
  const KernelSpec one = kernel("broadcast", "f32");
  EXPECT_EQ(one.problem.op, std::nullopt);
  EXPECT_EQ(one.problem.root, 0);
  EXPECT_EQ(one.problem.shard, "");
  EXPECT_EQ(one.worlds, std::vector<int>{3});
  EXPECT_EQ(one.problem.extent("m"), iris::Extent{.value = 1});
  EXPECT_EQ(one.problem.extent("n"), iris::Extent{.value = 0});
  EXPECT_EQ(one.variant, "auto");
  EXPECT_EQ(one.problem.layout_b, std::nullopt);
  EXPECT_EQ(kernel("all_gather", "f32").problem.shard, "m");
}

TEST(spec, reads_the_layout_of_b) {
  const auto layout = [](const std::string& more) {
    return parse_spec("s", spec_with("matmul", "m: 8, n: 8, k: 8", more)).kernels.at(0).problem.layout_b;
  };
  EXPECT_EQ(layout(""), iris::Layout::kn);
  EXPECT_EQ(layout(", layout: {}"), iris::Layout::kn);
  EXPECT_EQ(layout(", layout: {b: kn}"), iris::Layout::kn);
  EXPECT_EQ(layout(", layout: {b: nk}"), iris::Layout::nk);
}

TEST(spec, finds_kernels_by_name) {
  const Spec spec = parse_spec("spec.yaml", gradient_sum);
  EXPECT_EQ(spec.find("gradient_sum"), spec.kernels.data());
  EXPECT_EQ(spec.find("gradient"), nullptr);
}

std::string shape_for(const std::string& pattern, const std::string& length) {
  std::string shape;
  for (const std::string& extent : keys_of(pattern).extents) {
    shape.append(shape.empty() ? "" : ", ").append(extent).append(": ").append(length);
  }
  return shape;
}

TEST(spec, accepts_every_pattern_with_its_extents) {
  for (const std::string& pattern : pattern_names()) {
    const std::string shape = shape_for(pattern, "8");
    EXPECT_EQ(error_of(spec_with(pattern, shape)), "") << pattern;
    EXPECT_NE(error_of(spec_with(pattern, "m: 8")), "") << pattern;
    EXPECT_EQ(error_of(spec_with(pattern, shape + ", k: 8")) == "", false) << pattern;
    for (const std::string& variant : keys_of(pattern).variants) {
      const std::string more = ", variant: " + variant;
      EXPECT_EQ(error_of(spec_with(pattern, shape, more)), "") << pattern << more;
    }
  }
}

TEST(spec, takes_keys_exactly_where_the_pattern_does) {
  for (const std::string& pattern : pattern_names()) {
    const PatternKeys& keys = keys_of(pattern);
    const auto accepts = [&](const std::string& more) {
      return error_of(spec_with(pattern, shape_for(pattern, "8"), more)).empty();
    };
    EXPECT_EQ(accepts(", op: sum"), keys.takes_op) << pattern;
    EXPECT_EQ(accepts(", accumulate: f64"), keys.takes_accumulate) << pattern;
    EXPECT_EQ(accepts(", root: 3"), keys.takes_root) << pattern;
    EXPECT_EQ(accepts(", shard: n"), !keys.shards.empty()) << pattern;
    EXPECT_EQ(accepts(", layout: {b: nk}"), keys.takes_layout) << pattern;
  }
}

TEST(check, takes_a_description_written_in_cpp) {
  KernelSpec kernel;
  kernel.name = "sum";
  kernel.problem = {
      .pattern = "all_reduce", .dtype = Dtype::bf16, .op = Op::max, .world = 4, .extents = {{"n", {.value = 8}}}};
  const Spec spec = check(kernel);
  ASSERT_EQ(spec.kernels.size(), 1U);
  EXPECT_EQ(spec.kernels[0].worlds, std::vector<int>{4});
  EXPECT_EQ(spec.kernels[0].problem.op, Op::max);
  EXPECT_EQ(spec.kernels[0].problem.accumulate, Dtype::f32);
  EXPECT_EQ(spec.kernels[0].problem.extents.size(), 2U) << "m was not filled in";
}

TEST(check, holds_it_to_every_rule) {
  const auto error = [](auto change) {
    KernelSpec kernel;
    kernel.name = "sum";
    kernel.problem = {.pattern = "all_reduce", .world = 4, .extents = {{"n", {.value = 8}}}};
    change(kernel);
    try {
      check(kernel);
    } catch (const SpecError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(error([](KernelSpec&) {}), "accepted");
  const auto expect = [&](auto change, const std::string& words) {
    EXPECT_NE(error(change).find(words), std::string::npos) << error(change);
  };
  expect([](KernelSpec& kernel) { kernel.name = "class"; }, "means something in C++ already");
  expect([](KernelSpec& kernel) { kernel.problem.world = 17; }, "from 1 to 16");
  expect([](KernelSpec& kernel) { kernel.problem.root = 0; }, "all_reduce takes no 'root'");
  expect([](KernelSpec& kernel) { kernel.problem.extents = {}; }, "missing key 'n'");
  expect([](KernelSpec& kernel) { kernel.problem.pattern = "all_reduec"; }, "did you mean 'all_reduce'?");
  expect([](KernelSpec& kernel) { kernel.problem.result = Dtype::f64; }, "a result of another type");
  expect([](KernelSpec& kernel) { kernel.config["blokcs"] = {.value = 3}; }, "did you mean 'blocks'?");
  expect([](KernelSpec& kernel) { kernel.problem.accumulate = Dtype::i32; }, "does not accumulate in i32");
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

TEST(spec, takes_8_bit_floats_and_tf32_for_operands_of_products_only) {
  const auto expect_of_products = [](const std::string& dtype, Dtype result, const std::string& remedy) {
    const auto text = [&](const std::string& rest) {
      return "{irisgen: 1, kernels: [{name: k, dtype: " + dtype + ", world: 2, " + rest + "}]}";
    };
    const KernelSpec product = parse_spec("s", text("pattern: matmul, shape: {m: 1, n: 1, k: 1}")).kernels.at(0);
    EXPECT_EQ(product.problem.accumulate, Dtype::f32);
    EXPECT_EQ(product.problem.result, result);
    EXPECT_EQ(error_of(text("pattern: matmul, accumulate: f64, shape: {m: 1, n: 1, k: 1}")), "");
    for (const std::string& pattern : pattern_names()) {
      const std::string shape = keys_of(pattern).extents.size() == 3 ? "m: 2, n: 2, k: 2" : "n: 2";
      const std::string error = error_of(text("pattern: " + pattern + ", shape: {" + shape + "}"));
      const std::string words = dtype + " is a type of the operands of products, and " + pattern + " has none; write ";
      if (pattern.find("matmul") != std::string::npos) {
        EXPECT_EQ(error, "");
      } else {
        EXPECT_NE(error.find(words + remedy), std::string::npos) << error;
      }
    }
  };
  expect_of_products("e4m3", Dtype::bf16, "f16 or bf16");
  expect_of_products("tf32", Dtype::f32, "f32");
}

TEST(spec, takes_neither_in_kernels_of_the_users_own) {
  for (const std::string dtype : {"e4m3", "tf32"}) {
    const std::string error =
        error_of("{irisgen: 1, kernels: [{name: k, source: k.hip, entry: k, reference: none, dtype: " + dtype +
                 ", world: 2, shape: {n: 1}}]}");
    EXPECT_NE(error.find(dtype + " is a type of the operands of products, and a kernel of your own has none"),
              std::string::npos)
        << error;
  }
}

TEST(spec, checks_8_bit_floats_that_were_described_in_cpp) {
  KernelSpec kernel{.name = "quantized",
                    .problem = {.pattern = "matmul",
                                .dtype = Dtype::e4m3,
                                .layout_b = iris::Layout::nk,
                                .extents = {{"m", {.value = 8}}, {"n", {.value = 8}}, {"k", {.value = 16}}}}};
  kernel.worlds = {1};
  EXPECT_NO_THROW(check(kernel));
  kernel.problem.result = Dtype::e4m3;
  EXPECT_THROW(check(kernel), SpecError);
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
  for (const std::string& pattern : pattern_names()) {
    const Spec spec = parse_spec("s", spec_with(pattern, shape_for(pattern, "dynamic")));
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
  EXPECT_THROW(read_spec(""), std::runtime_error);
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
}  // namespace irisgen::spec_test
