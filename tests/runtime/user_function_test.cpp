#include <algorithm>
#include <cmath>
#include <limits>

#include "iris/reference.hpp"
#include "iris/values.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/source.hpp"
#include "tests/runtime/user_function_samples.hpp"

/// Functions of the user's own within patterns.
namespace iris::test::user_function_test {
namespace {

constexpr const char* all_roles =
    "    op: {source: f.hip, function: absmax, identity: 0}\n"
    "    prologue: {source: f.hip, function: square}\n"
    "    epilogue: {source: f.hip, function: softsign}\n";
constexpr const char* with_buffers =
    "    epilogue:\n"
    "      source: f.hip\n"
    "      function: layer\n"
    "      arguments: {scale: {per: row, dtype: f32}, residual: {per: element}, gain: {per: output, dtype: f16}}\n";

struct Case {
  std::string pattern;
  std::string variant;
  bool reduces = false;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& name : irisgen::pattern_names()) {
    const irisgen::PatternKeys& keys = irisgen::keys_of(name);
    if (!keys.takes_accumulate) continue;
    for (const std::string& variant : keys.variants) all.push_back({name, variant, keys.takes_op});
  }
  return all;
}

class EveryVariant : public UserFunctions, public testing::WithParamInterface<Case> {
 protected:
  std::string with_variant(const std::string& lines) const {
    const bool product = GetParam().pattern.find("matmul") != std::string::npos;
    const std::string shape = product ? "{m: 39, n: 21, k: 40}" : "{m: 5, n: 21}";
    return description(GetParam().pattern, shape, "    variant: " + GetParam().variant + "\n" + lines);
  }
  /// Whether it makes results of which it does not know where they will lie, or sums in the output.
  bool moves_results() const {
    return GetParam().variant == "reduce_scatter_all_gather" ||
           (GetParam().pattern == "matmul_all_gather" && GetParam().variant == "bulk_synchronous");
  }
  bool adds_in_output() const { return GetParam().variant == "atomic"; }
  void refuses_functions() const {
    const std::string text =
        description("all_reduce", "{m: 5, n: 21}",
                    "    variant: atomic\n    epilogue: {source: f.hip, function: softsign}\n", "f32");
    EXPECT_NE(problems_of(text).find("atomic cannot call a function of your own"), std::string::npos);
  }
};

TEST_P(EveryVariant, calls_an_epilogue_with_its_buffers) {
  if (adds_in_output()) return refuses_functions();
  if (moves_results()) {
    EXPECT_NE(problems_of(with_variant(with_buffers)).find("take another variant"), std::string::npos);
    return;
  }
  const RunReport report = run(plan(with_variant(with_buffers)), {.repeat = 3});
  EXPECT_TRUE(report.verified);
  EXPECT_TRUE(report.passed) << report.wrong << " of " << report.elements;
}

TEST_P(EveryVariant, calls_functions_without_buffers) {
  if (adds_in_output()) return refuses_functions();
  const std::string lines = GetParam().reduces ? all_roles
                                               : "    prologue: {source: f.hip, function: square}\n"
                                                 "    epilogue: {source: f.hip, function: softsign}\n";
  std::string text = with_variant(lines);
  if (GetParam().variant == "reduce_scatter_all_gather") text.replace(text.find("n: 21"), 5, "n: 24");
  const RunReport report = run(plan(text), {.repeat = 3});
  EXPECT_TRUE(report.verified);
  EXPECT_TRUE(report.passed) << report.wrong << " of " << report.elements;
}

INSTANTIATE_TEST_SUITE_P(All, EveryVariant, testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.pattern + "_" + param.param.variant; });

// By hand, from the inputs: what the references call is not asked.
TEST_F(UserFunctions, compute_what_they_say) {
  const irisgen::Plan planned = plan(description("reduce_scatter", "{m: 2, n: 3}",
                                                 "    prologue: {source: f.hip, function: square}\n"
                                                 "    epilogue: {source: f.hip, function: layer, arguments: {residual: "
                                                 "{per: element}, scale: {per: row}, gain: {per: output}}}\n",
                                                 "f32", 2));
  ASSERT_EQ(planned.arguments.size(), 6u);
  const irisgen::Values input = {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6};
  const irisgen::Values bias = {0.5, 0.25, 0};
  const irisgen::Values scale = {1, -2};
  const irisgen::Values residual = {10, 20, 30, 40, 50, 60};
  const auto both = [](const irisgen::Values& values) { return BuffersOfRanks(2, to_bytes(values, Dtype::f32)); };
  RunOptions options;
  options.inputs = {{"input", both(input)},
                    {"bias", both(bias)},
                    {"scale", both(scale)},
                    {"residual", both(residual)},
                    {"gain", both({4})}};
  const RunReport report = run(planned, options);
  EXPECT_TRUE(report.passed);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const irisgen::Values found = to_values(report.outputs.at(0).content[rank], Dtype::f32);
    for (std::size_t i = 0; i < 6; ++i) {
      const double x = input[6 * rank + i];
      const double y = scale[i / 3] * (2 * x * x) + bias[i % 3];
      EXPECT_NEAR(found[i], 4 * y / (1 + std::abs(y)) + residual[i], 1e-5) << rank << ", " << i;
    }
  }
}

TEST_F(UserFunctions, reduce_in_the_order_of_ranks) {
  const irisgen::Plan planned = plan(
      description("all_reduce", "{n: 2}", "    op: {source: f.hip, function: first_and_half, identity: 0}\n", "f32"));
  RunOptions options;
  const auto values = [](double a, double b) { return to_bytes(irisgen::Values{a, b}, Dtype::f32); };
  options.inputs = {{"input", {values(1, 10), values(2, 20), values(4, 40)}}};
  options.verify = false;
  const RunReport report = run(planned, options);
  EXPECT_EQ(to_values(report.outputs.at(0).content[2], Dtype::f32), (irisgen::Values{4, 40}));
}

TEST_F(UserFunctions, work_on_whole_numbers_and_in_float64) {
  EXPECT_TRUE(run(plan(description("all_reduce", "{n: 30}",
                                   "    op: {source: f.hip, function: absmax, identity: 0}\n"
                                   "    epilogue: {source: f.hip, function: clamp}\n",
                                   "i32")))
                  .passed);
  EXPECT_TRUE(
      run(plan(description("matmul", "{m: 5, n: 6, k: 7}", "    epilogue: {source: f.hip, function: layer}\n", "f64")))
          .passed);
}

TEST_F(UserFunctions, that_differ_from_their_reference_are_found) {
  // Of an odd number of values each gives the wrong one where it is called once too often.
  write("f.hip", R"(#include <iris/device/numeric.hpp>
template <typename T>
__device__ T f(T x) { return sizeof(T) == 8 ? x : x * T(1.01); }
)");
  const RunReport report =
      run(plan(description("all_reduce", "{n: 30}", "    epilogue: {source: f.hip, function: f}\n", "f32")));
  EXPECT_TRUE(report.verified);
  EXPECT_GT(report.wrong, 80);
}

/// What a prologue may be off by goes through the operation, of each element by itself.
TEST_F(UserFunctions, before_a_reduction_may_be_as_far_off_as_their_results) {
  write("f.hip", R"(#include <iris/device/numeric.hpp>
template <typename T>
__device__ T scaled(T x) { return x * (sizeof(T) == 8 ? T(100) : T(100.01)); }
template <typename T>
__device__ T wrong_if_small(T x) { return sizeof(T) == 8 || x > 10 ? x : x + T(0.125); }
template <typename T>
__device__ T square(T x) { return x * x; }
)");
  const auto verified = [&](const std::string& dtype, const std::string& op, const std::string& function,
                            const irisgen::Values& input) {
    const irisgen::Plan planned =
        plan(description("all_reduce", "{n: " + std::to_string(input.size()) + "}",
                         "    op: " + op + "\n    prologue: {source: f.hip, function: " + function + "}\n", dtype, 4));
    RunOptions options;
    options.inputs = {{"input", BuffersOfRanks(4, to_bytes(input, planned.problem.dtype))}};
    return run(planned, options);
  };
  const std::string tolerant = "scaled, relative: 2.0e-4";
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* op : {"sum", "prod", "max", "min"}) {
    EXPECT_TRUE(verified("f32", op, tolerant, {1, -2, 0.5, 3}).passed) << op;
    EXPECT_FALSE(verified("f32", op, "scaled", {1, -2, 0.5, 3}).passed) << op;
    // bf16 cannot hold squares, so they are rounded.
    EXPECT_TRUE(verified("bf16", op, "square", {1.0078125, -2.015625, 0.5078125, 3.03125}).passed) << op;
    for (const double large : {1e9, infinity})  // tolerates nothing beside it
      EXPECT_EQ(verified("f32", op, "wrong_if_small", {1, 2, 3, large}).wrong, 3 * 4) << op << ", " << large;
  }
}

TEST_F(UserFunctions, whose_identity_changes_something_are_found) {
  const std::string text =
      description("all_reduce", "{n: 30}", "    op: {source: f.hip, function: first_and_half, identity: 0}\n", "f32");
  try {
    run(plan(text));
    FAIL() << "0 is no identity of a + b/2";
  } catch (const std::runtime_error& error) {
    const std::size_t at = text.find("identity: ") + 10;
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const std::string words = "is not the identity of the operation, as line " + std::to_string(line) + ", column " +
                              std::to_string(at - text.rfind('\n', at)) + " of the description has it; change one";
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

// Which rank makes a result that all get is the variant's affair.
TEST_F(UserFunctions, of_replicated_results_have_replicated_buffers) {
  const std::string lines = "    epilogue: {source: f.hip, function: layer}\n";
  const irisgen::Plan planned = plan(description("all_reduce", "{n: 2}", lines, "f32", 2));
  EXPECT_FALSE(planned.arguments.at(0).replicated);
  ASSERT_TRUE(planned.arguments.at(2).replicated);
  RunOptions options;
  const auto values = [](double a, double b) { return to_bytes(irisgen::Values{a, b}, Dtype::f32); };
  options.inputs = {{"bias", {values(1, 2), values(1, 2)}}};
  EXPECT_TRUE(run(planned, options).passed);
  options.inputs = {{"bias", {values(1, 2), values(1, 3)}}};
  EXPECT_THROW(run(planned, options), std::runtime_error);
  EXPECT_FALSE(plan(description("reduce_scatter", "{n: 2}", lines, "f32", 2)).arguments.at(2).replicated);
}

// The type is in the call, so that it need not follow from the values; f32 and f64 may have functions of one name.
TEST_F(UserFunctions, may_be_any_template_over_one_type) {
  write("w.hip", R"(#include <iris/device/numeric.hpp>
using namespace iris::device;
__device__ f32 half_of(f32 x) { return 0.5f * x; }
__device__ f64 half_of(f64 x) { return 0.5 * x; }
template <typename T>
struct Same { using Type = T; };
template <typename T>
__device__ T f(typename Same<T>::Type x) { return half_of(x); }
)");
  EXPECT_TRUE(
      run(plan(description("all_reduce", "{n: 30}", "    epilogue: {source: w.hip, function: f}\n", "f32"))).passed);
}

// The file's text stands in a namespace for each role, and functions of C would be one and the same in both.
TEST_F(UserFunctions, with_linkage_of_C_may_have_two_roles) {
  write("c.hip",
        "#include <iris/device/numeric.hpp>\nextern \"C\" {\n__device__ float twice(float x) { return 2 * x; }\n}\n"
        "extern \"C\" __device__ float square(float x) { return x * x; }\n");
  const irisgen::Plan planned = plan(description("all_reduce", "{n: 100}",
                                                 "    prologue: {source: c.hip, function: twice}\n"
                                                 "    epilogue: {source: c.hip, function: square}\n",
                                                 "f32"));
  const RunReport report = run(planned);
  EXPECT_TRUE(report.verified);
  EXPECT_TRUE(report.passed);
}

TEST_F(UserFunctions, are_part_of_the_hash) {
  const std::string text = description("all_reduce", "{n: 30}", "    epilogue: {source: f.hip, function: softsign}\n");
  const std::string before = plan(text).spec_hash;
  EXPECT_EQ(plan(text).spec_hash, before);
  write("f.hip", std::string(functions) + "// changed\n");
  EXPECT_NE(plan(text).spec_hash, before);
}

TEST_F(UserFunctions, leave_their_lines_to_compilers) {
  const irisgen::Plan planned =
      plan(description("all_reduce", "{n: 30}", "    epilogue: {source: f.hip, function: softsign}\n"));
  const std::string text = irisgen::emit_sources(planned).at(0).self_contained;
  EXPECT_NE(text.find("#line 3 \"f.hip\"\nusing namespace iris::device;\n\n#define HALF 0.5f"), std::string::npos);
  EXPECT_NE(text.find("\n#undef HALF\n"), std::string::npos);
  EXPECT_NE(text.find("return epilogue_source::softsign<f32>(value);"), std::string::npos);
}

/// By a main loop whose threads have neighbours.
TEST_F(UserFunctions, read_for_neighbours_together_where_rows_are_of_even_length) {
  struct Product {
    std::string shape;
    std::string layout;
    std::string target;
    bool together;
  };
  const std::vector<Product> products = {
      {"{m: 512, n: 1026, k: 4096}", "nk", "sm_90a", true},
      {"{m: 512, n: 1025, k: 4096}", "nk", "sm_90a", false},
      {"{m: dynamic, n: 1026, k: 4096}", "nk", "sm_90a", true},
      {"{m: 512, n: dynamic, k: 4096}", "nk", "sm_90a", false},
      {"{m: 512, n: dynamic, k: 4096}", "kn", "sm_90a", true},  // where it is a multiple of 8
      {"{m: 512, n: 1026, k: 4095}", "nk", "sm_90a", false},
      {"{m: 512, n: 1026, k: 4096}", "nk", "gfx942", false},
  };
  for (const Product& product : products) {
    const irisgen::Plan planned =
        plan(description("matmul", product.shape,
                         "    variant: tiled\n    layout: {b: " + product.layout + "}\n" + with_buffers),
             product.target);
    const auto alignment_of = [&](const std::string& name) {
      return std::ranges::find(planned.arguments, name, &Argument::name)->alignment;
    };
    EXPECT_EQ(alignment_of("bias"), product.together ? 4 : 2) << product.shape << product.target;
    EXPECT_EQ(alignment_of("residual"), product.together ? 4 : 2);
    EXPECT_EQ(alignment_of("scale"), 4) << "one of a row, f32";
    EXPECT_EQ(alignment_of("gain"), 2);
    const std::string text = irisgen::emit_sources(planned).at(0).text;
    const bool is_there =
        text.find("    } both = {load_pack<2>(bias + at.column), load_pack<2>(residual + index)};\n") !=
        std::string::npos;
    EXPECT_EQ(is_there, product.together) << text;
  }
  // Each rank's columns begin at an even one.
  for (const auto& [n, together] : {std::pair{"1028", true}, {"1026", false}}) {
    const irisgen::Plan planned = plan(
        description("matmul_all_gather", "{m: 512, n: " + std::string(n) + ", k: 4096}",
                    "    variant: fused_sequential\n    shard: n\n    layout: {b: nk}\n" + std::string(with_buffers),
                    "bf16", 2),
        "sm_90a");
    EXPECT_EQ(irisgen::emit_sources(planned).at(0).text.find(" pair(") != std::string::npos, together) << n;
  }
}

/// Where a branch guards each call, the widest tiles' sums wait for the outcomes of all.
TEST_F(UserFunctions, spill_nothing_beside_the_widest_tiles) {
  IRISGEN_REQUIRE_COMPILER("nvrtc", "sm_90a");
  const Compiler& nvrtc = *samples::find_compiler("nvrtc");
  const std::string lines = "    layout: {b: nk}\n    config: {tile_n: 256}\n    epilogue: {source: f.hip, function: ";
  for (const std::string function : {"softsign", "square"}) {
    for (const auto& [pattern, variant] :
         {std::pair{"matmul", "tiled"}, std::pair{"matmul_all_gather", "fused_sequential"}}) {
      const irisgen::Plan planned = plan(
          description(pattern, "{m: 4095, n: 4096, k: 4096}", lines + function + "}\n    variant: " + variant + "\n"),
          "sm_90a");
      const std::vector<CompileRequest> requests = make_requests(planned, irisgen::emit_sources(planned));
      EXPECT_EQ(nvrtc.compile(requests.at(0)).resources.spill_bytes, 0) << pattern << ", " << function;
    }
  }
}

/// What the functions above do not need, since they take no buffers: registers that the warpgroup which moves data
/// leaves.
TEST_F(UserFunctions, spill_no_biases_beside_the_widest_tiles) {
  IRISGEN_REQUIRE_COMPILER("nvrtc", "sm_90a");
  write("f.hip",
        "#include <iris/device/math.hpp>\ntemplate <typename T>\n__device__ T f(T value, T bias) {\n  return value * "
        "T(0.5) + bias;\n}\n");
  for (const std::string layout : {"kn", "nk"}) {
    const irisgen::Plan planned =
        plan(description("matmul", "{m: 4096, n: 4096, k: 4096}",
                         "    layout: {b: " + layout + "}\n    variant: tiled\n    config: {tile_n: 256}\n" +
                             "    epilogue: {source: f.hip, function: f}\n"),
             "sm_90a");
    const std::vector<CompileRequest> requests = make_requests(planned, irisgen::emit_sources(planned));
    EXPECT_EQ(samples::find_compiler("nvrtc")->compile(requests.at(0)).resources.spill_bytes, 0) << layout;
  }
}

}  // namespace
}  // namespace iris::test::user_function_test
