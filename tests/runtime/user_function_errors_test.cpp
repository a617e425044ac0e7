#include <string>
#include <vector>

#include "tests/runtime/user_function_samples.hpp"

/// Functions that a pattern cannot call, each with what is said of it and where.
namespace iris::test::user_function_errors_test {
namespace {

// Its all_reduce is itself made of two, of which the first sums a part of the columns.
TEST_F(UserFunctions, with_buffers_are_refused_where_results_are_moved) {
  const std::string shape = "{m: 524288, n: 4096, k: 16}";
  const std::string bulk = "    variant: bulk_synchronous\n";
  const std::string with_bias = bulk + "    epilogue: {source: w.hip, function: f}\n";
  write("w.hip", "template <typename T> T f(T x, T bias) { return x + bias; }\n");
  const std::string text = description("matmul_all_reduce", shape, with_bias, "f16", 8);
  EXPECT_NE(problems_of(text).find("it makes the results in parts"), std::string::npos) << problems_of(text);
  const std::string without = bulk + "    epilogue: {source: f.hip, function: softsign}\n";
  EXPECT_EQ(problems_of(description("matmul_all_reduce", shape, without, "f16", 8)), "no error");
}

TEST_F(UserFunctions, have_no_buffer_of_a_name_that_the_operation_has) {
  for (const char* name : {"product", "kernel", "convert", "Coordinates", "stream", "i64", "a_map", "n"}) {
    write("w.hip", std::string("template <typename T> T f(T x, T ") + name + ") { return x + " + name + "; }\n");
    const std::string text =
        description("matmul_all_reduce", "{m: 8, n: 8, k: 8}",
                    "    variant: bulk_synchronous\n    epilogue: {source: w.hip, function: f}\n", "f16");
    EXPECT_NE(problems_of(text).find("rename"), std::string::npos) << name << ": " << problems_of(text);
  }
}

// Which number a launch has is told to kernels of which an operation launches one several times; others may use its
// name.
TEST_F(UserFunctions, have_no_buffer_of_the_name_of_a_launchs_number) {
  write("w.hip", "template <typename T> T f(T x, T portion) { return x + portion; }\n");
  const auto problems = [&](const std::string& variant) {
    return problems_of(description("matmul_all_gather", "{m: 9, n: 8, k: 8}",
                                   "    variant: " + variant + "\n    epilogue: {source: w.hip, function: f}\n",
                                   "f16"));
  };
  const std::string refused = problems("producer_consumer");
  EXPECT_NE(refused.find("has a number 'portion' of its own; rename the parameter of f"), std::string::npos) << refused;
  EXPECT_EQ(problems("fused_sequential"), "no error");
}

struct Wrong {
  const char* what;
  std::string lines;   ///< of the description
  std::string source;  ///< of w.hip
  std::vector<std::string> expected;
};

const std::vector<Wrong>& wrong_functions() {
  static const std::string epilogue = "    epilogue: {source: w.hip, function: f}\n";
  static const std::string operation = "    op: {source: w.hip, function: f, identity: 0}\n";
  static const std::string include = "#include <iris/device/numeric.hpp>\nusing namespace iris::device;\n";
  static const std::vector<Wrong> all = {
      {"no such file", "    epilogue: {source: none.hip, function: f}\n", "", {"spec.yaml:8:24", "no such file"}},
      {"recursion",
       epilogue,
       include + "__device__ f32 f(f32 x) { return x < 0 ? x : f(x - 1); }\n",
       {"w.hip:3:46: error: 'f' calls itself, for which a thread has no stack; write a loop"}},
      {"the thread",
       operation,
       include + "__device__ f32 f(f32 a, f32 b) { return a + b + thread_index(); }\n",
       {"w.hip:3:49: error: an element's value cannot depend on the thread that computes it", "'thread_index'"}},
      {"no such function",
       epilogue,
       "void g() {}\n",
       {"w.hip:1:1: error: there is no function 'f' here; there are: g"}},
      {"a result of another type",
       epilogue,
       include + "f64 f(f32 x) { return x; }\n",
       {"w.hip:3:5: error: 'f' returns 'f64' where values are f32"}},
      {"no result", epilogue, "void f(float x) {}\n", {"'f' returns 'void' where values are f32"}},
      {"a value of another type",
       epilogue,
       include + "f32 f(f64 x) { return x; }\n",
       {"w.hip:3:11: error: values are f32 here, and this is f64"}},
      {"a pointer",
       epilogue,
       include + "f32 f(const f32* x) { return *x; }\n",
       {"values come as f32, f64 or i32, and this is 'const f32 *'; take f32 by value"}},
      {"a reference", epilogue, include + "f32 f(f32& x) { return x; }\n", {"and this is 'f32 &'"}},
      {"elements as stored", epilogue, include + "f32 f(bf16 x) { return 0; }\n", {"and this is 'bf16'"}},
      {"no value",
       epilogue,
       "float f() { return 0; }\n",
       {"w.hip:1:7), and an epilogue takes one value, and an element of each buffer"}},
      {"one value of two",
       operation,
       "float f(float x) { return x; }\n",
       {"w.hip:1:7), and an operation takes two values"}},
      {"a prologue with a buffer",
       "    prologue: {source: w.hip, function: f}\n",
       "float f(float x, float bias) { return x; }\n",
       {"and a prologue takes one value"}},
      {"a buffer without a name",
       epilogue,
       "float f(float x, float) { return x; }\n",
       {"w.hip:1:23: error: a parameter without a name; a buffer is called by it"}},
      {"a buffer of a name that is taken",
       epilogue,
       "float f(float x, float output) { return x; }\n",
       {"spec.yaml:8:41", "w.hip:1:24) would be a buffer of a name that means something else"}},
      {"an argument that is no parameter",
       "    epilogue: {source: w.hip, function: f, arguments: {bias: {}}}\n",
       "float f(float x) { return x; }\n",
       {"spec.yaml:8:56", "w.hip:1:7) after its value"}},
      {"whole numbers for floats",
       "    epilogue: {source: w.hip, function: f, arguments: {bias: {dtype: i32}}}\n",
       "float f(float x, float bias) { return x; }\n",
       {"whole numbers and floats do not mix: write `dtype: f32`, or another type of floats, for it"}},
      {"the standard library",
       epilogue,
       "#include <cmath>\nfloat f(float x) { return std::exp(x); }\n",
       {"w.hip:1:10: error: 'cmath' file not found"}},
      {"a function of the library",
       epilogue,
       "float f(float x) { return expf(x); }\n",
       {"w.hip:1:27: error: 'expf' is not there in a kernel: include <iris/device/math.hpp> and write exp()"}},
      {"a template over two types",
       epilogue,
       "template <typename A, typename B> A f(A a, B b) { return a; }\n",
       {"'f' must be a template over one type, that of its values, or no template"}},
      {"two functions",
       epilogue,
       "float f(float x) { return x; }\nfloat f(double x) { return x; }\n",
       {"several functions are called 'f'"}},
      {"a variable", epilogue, "static int f;\n", {"there is no function 'f' here"}},
      {"a syntax error", epilogue, "float f(float x) { return ; }\n", {"w.hip:1:20: error: non-void function"}},
  };
  return all;
}

class WrongFunction : public UserFunctions, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongFunction, is_an_error_with_a_place) {
  write("w.hip", GetParam().source);
  const std::string report = problems_of(description("all_reduce", "{n: 30}", GetParam().lines, "f32"));
  for (const std::string& expected : GetParam().expected)
    EXPECT_NE(report.find(expected), std::string::npos) << expected << "\nis not in\n" << report;
}

INSTANTIATE_TEST_SUITE_P(All, WrongFunction, testing::ValuesIn(wrong_functions()), [](const auto& param) {
  std::string name = param.param.what;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace iris::test::user_function_errors_test
