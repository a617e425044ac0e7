#include <algorithm>
#include <bit>

#include "iris/operation.hpp"
#include "iris/values.hpp"
#include "iris/world.hpp"
#include "irisgen/pattern.hpp"
#include "tests/runtime/product_prologue_samples.hpp"

/// What products with a prologue compute.
namespace iris::test::product_prologue_test {
namespace {

/// What the function of the samples does.
double bent(double x) {
  return x * x + 0.5;
}

/// To nearest even, by the bits of the f32 that the value is.
double rounded(double value, Dtype dtype) {
  if (dtype != Dtype::bf16) return value;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000U);
}

using Values = irisgen::Values;
using ValuesOfRanks = std::vector<Values>;

/// Eighths and small integers, so that every sum is exact in f32 and nothing but what is rounded is rounded. Another
/// element for each rank and place.
Values values_of_a(const Product& product, int rank) {
  Values values(static_cast<std::size_t>(product.rows_of_a() * product.k));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>((i * 37 + static_cast<std::size_t>(rank) * 11) % 121) / 8 - 7.5;
  return values;
}
Values values_of_b(const Product& product, int rank) {
  Values values(static_cast<std::size_t>(product.k * product.columns_of_b()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>((i * 7 + static_cast<std::size_t>(rank) * 3) % 5) - 2;
  return values;
}

/// Of the rows of one rank, with the prologue, in float64.
Values multiply(const Product& product, const Values& a, const Values& b) {
  const std::int64_t k = product.k;
  const std::int64_t columns = product.columns_of_b();
  Values result;
  for (std::int64_t row = 0; row < product.rows_of_a(); ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (std::int64_t depth = 0; depth < k; ++depth) {
        const std::int64_t at = product.layout == "nk" ? column * k + depth : depth * columns + column;
        sum += rounded(bent(a[static_cast<std::size_t>(row * k + depth)]), product.type()) *
               b[static_cast<std::size_t>(at)];
      }
      result.push_back(sum);
    }
  }
  return result;
}

/// What each rank's output must be. Where ranks' products are summed, each travels in the type of the result.
ValuesOfRanks expected(const Product& product, const ValuesOfRanks& a, const ValuesOfRanks& b) {
  const auto world = static_cast<std::size_t>(product.world);
  const auto whole = static_cast<std::size_t>(product.m * product.n);
  ValuesOfRanks results(world);
  Values sum(whole);
  for (std::size_t rank = 0; rank < world; ++rank) {
    const Values own = multiply(product, a[rank], b[rank]);
    if (product.pattern == "matmul") results[rank] = own;
    if (product.pattern == "all_gather_matmul") {
      for (const Values& rows : a) {
        const Values part = multiply(product, rows, b[rank]);
        results[rank].insert(results[rank].end(), part.begin(), part.end());
      }
    }
    if (product.pattern == "matmul_reduce_scatter" || product.pattern == "matmul_all_reduce") {
      for (std::size_t i = 0; i < whole; ++i) sum[i] += rounded(own[i], product.type());
    }
    if (product.pattern == "matmul_all_gather") {
      const auto columns = static_cast<std::size_t>(product.columns_of_b());
      const std::size_t first = product.shard == "n" ? rank * columns : rank * own.size();
      for (std::size_t i = 0; i < own.size(); ++i)
        sum[first + i / columns * static_cast<std::size_t>(product.n) + i % columns] = own[i];
    }
  }
  const std::size_t part = whole / world;
  for (std::size_t rank = 0; rank < world; ++rank) {
    if (product.pattern == "matmul_reduce_scatter") {
      const auto first = sum.begin() + static_cast<std::ptrdiff_t>(rank * part);
      results[rank].assign(first, first + static_cast<std::ptrdiff_t>(part));
    } else if (results[rank].empty()) {
      results[rank] = sum;
    }
    for (double& value : results[rank]) value = rounded(value, product.type());
  }
  return results;
}

class ProductPrologue : public WithPrologue {
 protected:
  /// Every element is what it must be by hand, to the last bit, and irisgen's own reference agrees.
  void expect_right(const Product& product) const {
    SCOPED_TRACE(product.text());
    ValuesOfRanks a;
    ValuesOfRanks b;
    RunOptions options{.repeat = 3};
    for (int rank = 0; rank < product.world; ++rank) {
      a.push_back(values_of_a(product, rank));
      b.push_back(values_of_b(product, rank));
      options.inputs["a"].push_back(to_bytes(a.back(), product.type()));
      options.inputs["b"].push_back(to_bytes(b.back(), product.type()));
    }
    if (product.dynamic) options.extents = {{"m", product.m}, {"k", product.k}};
    const irisgen::Plan planned = plan(product.text());
    EXPECT_EQ(planned.arguments.size(), 3U);
    const RunReport report = run(planned, options);
    EXPECT_TRUE(report.verified);
    EXPECT_TRUE(report.passed) << report.wrong << " of " << report.elements;
    const ValuesOfRanks wanted = expected(product, a, b);
    for (std::size_t rank = 0; rank < wanted.size(); ++rank)
      EXPECT_EQ(to_values(report.outputs.at(0).content[rank], product.type()), wanted[rank]) << "rank " << rank;
  }
};

std::vector<Product> every_variant() {
  std::vector<Product> all;
  for (const std::string& name : irisgen::pattern_names()) {
    if (irisgen::find_pattern(name)->product == nullptr) continue;
    for (const std::string& variant : irisgen::keys_of(name).variants) all.push_back({name, variant});
  }
  return all;
}

class EveryProduct : public ProductPrologue, public testing::WithParamInterface<Product> {};

// Each pair of a number of ranks, a type and a layout.
TEST_P(EveryProduct, multiplies_what_the_function_makes_of_a) {
  struct Choice {
    int world;
    const char* dtype;
    const char* layout;
  };
  for (const Choice& choice : {Choice{1, "bf16", "nk"}, Choice{1, "f32", "kn"}, Choice{2, "bf16", "kn"},
                               Choice{2, "f32", "nk"}, Choice{3, "bf16", "nk"}, Choice{3, "f32", "kn"}}) {
    Product product = GetParam();
    product.world = choice.world;
    product.dtype = choice.dtype;
    product.layout = choice.layout;
    expect_right(product);
  }
}

TEST_P(EveryProduct, takes_extents_that_are_known_at_launch) {
  Product product = GetParam();
  if (product.pattern == "matmul_all_reduce" && product.variant == "producer_consumer")
    GTEST_SKIP() << "must know that ranks divide m";
  product.world = 3;
  product.dynamic = true;
  expect_right(product);
}

/// Buffers that a step reads or writes.
std::vector<std::string> buffers_of(const Step& step) {
  if (const auto* copy = std::get_if<CopyStep>(&step.action)) return {copy->from, copy->to};
  const auto* launch = std::get_if<LaunchStep>(&step.action);
  if (launch == nullptr) return {};
  std::vector<std::string> buffers = launch->buffers;
  for (const MatrixMap& map : launch->maps) buffers.push_back(map.buffer);
  return buffers;
}

// On GPUs the product reads A by tensor copies or by threads, and sends it by threads or copy engines.
TEST_P(EveryProduct, follows_a_step_that_alone_reads_a) {
  for (const char* target : {"host", "gfx90a", "gfx942", "gfx950", "sm_90a"}) {
    Product product = GetParam();
    product.world = 2;
    product.m = 4096;
    product.n = 1024;
    product.k = 2048;
    SCOPED_TRACE(product.text() + target);
    const irisgen::Plan planned = plan(product.text(), target);
    EXPECT_EQ(planned.kernels.at(0).template_path, "map/element_wise.hip");
    EXPECT_EQ(planned.intermediates.at(0).name, "mapped_a");
    EXPECT_EQ(planned.intermediates.at(0).shape, planned.arguments.at(0).shape);
    EXPECT_FALSE(planned.arguments.at(0).symmetric);
    const std::vector<Step>& steps = planned.schedules.at(0).steps;
    EXPECT_EQ(buffers_of(steps.at(0)), (std::vector<std::string>{"a", "mapped_a"}));
    bool is_read = false;
    for (std::size_t i = 1; i < steps.size(); ++i) {
      const std::vector<std::string> buffers = buffers_of(steps[i]);
      EXPECT_EQ(std::ranges::count(buffers, "a"), 0);
      is_read = is_read || std::ranges::count(buffers, "mapped_a") > 0;
    }
    EXPECT_TRUE(is_read);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryProduct, testing::ValuesIn(every_variant()),
                         [](const auto& param) { return param.param.pattern + "_" + param.param.variant; });

TEST_F(ProductPrologue, of_columns_that_are_gathered) {
  for (const std::string& variant : irisgen::keys_of("matmul_all_gather").variants) {
    if (variant == "producer_consumer") continue;  // it copies rows alone
    for (const int world : {2, 3})
      expect_right({.pattern = "matmul_all_gather", .variant = variant, .world = world, .shard = "n", .n = 24});
  }
}

// The buffer between is as large as the capacity, and a launch uses its begin.
TEST_F(ProductPrologue, of_launches_smaller_than_the_capacity) {
  Product product{
      .pattern = "all_gather_matmul", .variant = "producer_consumer", .world = 2, .dtype = "f32", .dynamic = true};
  write("spec.yaml", product.text());
  World world({.size = 2, .target = "host"});
  world.run([&](Context& context) {
    Operation layer = jit_file(context, path("spec.yaml"), {.capacity = {{"m", 64}, {"k", 48}}});
    for (const auto& [m, k] :
         {std::pair{42, 37}, std::pair{2, 48}, std::pair{64, 5}, std::pair{0, 37}, std::pair{42, 0}}) {
      Product sized = product;
      sized.m = m;
      sized.k = k;
      const ValuesOfRanks a = {values_of_a(sized, 0), values_of_a(sized, 1)};
      const ValuesOfRanks b = {values_of_b(sized, 0), values_of_b(sized, 1)};
      const auto rank = static_cast<std::size_t>(context.rank());
      std::vector<float> own_a(a[rank].begin(), a[rank].end());
      std::vector<float> own_b(b[rank].begin(), b[rank].end());
      std::vector<float> output(static_cast<std::size_t>(m * sized.n), -1);
      layer.launch({own_a.data(), own_b.data(), output.data()}, {{"m", m}, {"k", k}});
      context.synchronize();
      EXPECT_EQ(Values(output.begin(), output.end()), expected(sized, a, b)[rank]) << "m = " << m;
    }
  });
}

constexpr const char* more_functions = R"(#include <iris/device/numeric.hpp>

template <typename T>
__device__ T softsign(T x) {
  return x / (1 + (x < 0 ? -x : x));
}
template <typename T>
__device__ T clamp(T x) {
  return x > 1000 ? 1000 : x < -1000 ? -1000 : x;
}
template <typename T>
__device__ T layer(T x, T bias, T residual) {
  return softsign(x + bias) + residual;
}

/// Half way between 1 and the next bf16, but in a kernel a little more.
template <typename T>
__device__ T half_way(T) {
  return sizeof(T) == 8 ? T(1.00390625) : T(1.0039065);
}
template <typename T>
__device__ T other_in_kernels(T x) {
  return sizeof(T) == 8 ? x : x * T(1.02);
}
)";

// Of e4m3 the function gets what is stored, without the scale; of tf32 f32, and f32 is what it leaves.
TEST_F(ProductPrologue, of_every_type) {
  for (const std::string dtype : {"f64", "f32", "tf32", "f16", "bf16", "e4m3", "i32", "bf16\n    accumulate: f64"}) {
    const std::string called = dtype == "i32" ? "clamp" : "softsign";
    write("f.hip", more_functions + ("template <typename T> __device__ T bent(T x) { return " + called + "(x); }\n"));
    for (const char* pattern : {"matmul", "all_gather_matmul", "matmul_reduce_scatter"}) {
      const Product product{.pattern = pattern, .world = 2, .dtype = dtype, .layout = "nk", .k = 40};
      SCOPED_TRACE(product.text());
      const RunReport report = run(plan(product.text()), {.repeat = 2});
      EXPECT_TRUE(report.verified);
      EXPECT_TRUE(report.passed) << report.wrong << " of " << report.elements;
    }
  }
}

TEST_F(ProductPrologue, goes_with_an_epilogue_and_its_buffers) {
  write("more.hip", more_functions);
  for (const char* pattern : {"matmul", "all_gather_matmul", "matmul_reduce_scatter", "matmul_all_reduce"}) {
    for (const std::string& variant : irisgen::keys_of(pattern).variants) {
      const Product product{
          .pattern = pattern,
          .variant = variant,
          .world = 3,
          .more = "    epilogue: {source: more.hip, function: layer, arguments: {residual: {per: element}}}\n"};
      const RunReport report = run(plan(product.text()), {.repeat = 2});
      EXPECT_TRUE(report.passed) << product.text() << report.wrong << " of " << report.elements;
    }
  }
}

TEST_F(ProductPrologue, that_differs_from_its_reference_is_found) {
  write("f.hip",
        std::string(more_functions) + "template <typename T> __device__ T bent(T x) { return other_in_kernels(x); }\n");
  for (const auto& product : {Product{.pattern = "matmul"}, Product{.pattern = "matmul_all_reduce", .world = 2},
                              Product{.pattern = "all_gather_matmul", .world = 2, .dtype = "f32"}}) {
    const RunReport report = run(plan(product.text()));
    EXPECT_TRUE(report.verified);
    EXPECT_GT(report.wrong, report.elements / 10) << product.text();
  }
}

TEST_F(ProductPrologue, may_be_rounded_to_either_neighbour_where_its_error_decides) {
  write("f.hip",
        std::string(more_functions) + "template <typename T> __device__ T bent(T x) { return half_way(x); }\n");
  const Product product{.pattern = "matmul_reduce_scatter", .world = 2};
  EXPECT_TRUE(run(plan(product.text())).passed);
  std::string exact = product.text();
  exact.replace(exact.find("function: bent"), 14, "function: bent, relative: 0, absolute: 0");
  EXPECT_FALSE(run(plan(exact)).passed);
}

}  // namespace
}  // namespace iris::test::product_prologue_test
