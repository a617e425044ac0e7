#include "irisgen/source.hpp"
#include "tests/runtime/error_words.hpp"
#include "tests/runtime/user_kernel_samples.hpp"

/// Names in a user's kernel: those that libraries have and kernels have not, and those that have another place in an
/// emitted file.
namespace iris::test::user_kernel_names_test {
namespace {

/// A kernel whose last line this is, the sixth, behind `before` in the third.
std::string source(const std::string& line, const std::string& before = "") {
  return "#include <iris/device/context.hpp>\nusing namespace iris::device;\n" + before +
         "\n__device__ void f(const Context& context, f32* output, i64 n) {\n  i64 m = n;\n  " + line + "\n}\n";
}

struct Unknown {
  std::string line;
  std::string expected;
};

TEST_F(UserKernel, that_calls_a_library_is_told_what_to_write_instead) {
  const std::vector<Unknown> all = {
      {"printf(\"%lld\", n);", "k.hip:6:3: error: 'printf' is not there in a kernel: kernels print nothing; store"},
      {"std::cout << n;", "'std::cout' is not there in a kernel: kernels print nothing"},
      {"std::sort(output, output + n);", "k.hip:6:3: error: 'std::sort' is not there in a kernel: write a loop: over"},
      {"output[0] = std :: accumulate(output, output + n, 0.f);", "k.hip:6:15: error: 'std::accumulate' is not there"},
      {"memcpy(output, output + m, 4);", "'memcpy' is not there in a kernel: write a loop, by packs if need be"},
      {"void* more = malloc(n);", "'malloc' is not there in a kernel: kernels allocate nothing; take shared<T>()"},
      {"output[0] = fabsf(output[1]);", "'fabsf' is not there in a kernel: write abs(x) of <iris/device/math.hpp>"},
      {"output[0] = expf(output[1]);",
       "'expf' is not there in a kernel: include <iris/device/math.hpp> and write exp(), which takes f32 and f64"},
      {"output[0] = std::exp(output[1]);", "'std::exp' is not there in a kernel: include <iris/device/math.hpp>"},
      {"output[0] = __expf(output[1]);", "'__expf' is not there in a kernel: write approximate::exp(x) of"},
      {"output[0] = __fdividef(1, 3);", "'__fdividef' is not there in a kernel: write approximate::divide(a, b) of"},
      {"output[0] = __logf(output[1]);", "'__logf' is not there in a kernel: include <iris/device/math.hpp>"},
      {"output[0] = sqrt(output[1]);", "'sqrt' is not there in a kernel: include <iris/device/math.hpp>"},
      {"output[0] = std::max(m, n);", "'std::max' is not there in a kernel: include <iris/device/math.hpp>"},
      {"output[0] = fminf(1, 2);", "'fminf' is not there in a kernel: write min(a, b) of <iris/device/math.hpp>"},
      {"output[0] = powf(2, 3);", "'powf' is not there in a kernel: for x > 0 write exp(y * log(x))"},
      {"output[0] = sinf(2);", "'sinf' is not there in a kernel: the vocabulary has no such function"},
      {"uint32_t k = 3;", "k.hip:6:3: error: 'uint32_t' is not there in a kernel: write u32"},
      {"std::vector<float> all;", "'std::vector' is not there in a kernel: kernels allocate nothing"},
      {"std::chrono::seconds s;", "'std::chrono' is not there in a kernel: what kernels have is the vocabulary"},
      {"assert(n > 0);", "'assert' is not there in a kernel: a kernel cannot end the program"},
      {"__syncthreads();", "'__syncthreads' is not there in a kernel: write sync_block()"},
      {"output[threadIdx.x] = 1;", "k.hip:6:10: error: 'threadIdx' is not there in a kernel: write thread_index()"},
  };
  for (const auto& [line, expected] : all) expect_part(error_of(description(), source(line)), expected);
}

// What no library has is the user's own mistake.
TEST_F(UserKernel, that_misspells_a_name_is_told_what_clang_says) {
  expect_part(error_of(description(), source("output[0] = nn;")),
              "k.hip:6:15: error: use of undeclared identifier 'nn'");
  expect_part(error_of(description(), source("outputs[0] = 1;")), "did you mean 'output'?");
}

TEST_F(UserKernel, whose_reference_calls_a_library_is_told_what_to_write_instead) {
  write("k.hip", source("output[0] = m;"));
  const auto error = [&](const std::string& body) {
    write("r.cpp", "void r(double* const* output) {\n  " + body + "\n}\n");
    return test::error_of([&] { reference_of(plan(description("    reference: {source: r.cpp, function: r}\n"))); });
  };
  expect_part(error("output[0][0] = std::exp(1);"),
              "r.cpp:2:18: error: 'std::exp' is not there in a reference: write __builtin_exp(), which calls the C");
  expect_part(error("output[0][0] = sin(1);"), "'sin' is not there in a reference: write __builtin_sin()");
  expect_part(error("printf(\"\");"), "'printf' is not there in a reference: leave it out: a reference only computes");
}

TEST_F(UserKernel, with_linkage_of_C_has_none_in_what_is_emitted) {
  write("k.hip",
        "#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
        "extern \"C\" __device__ i64 twice(i64 n) { return 2 * n; }\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
        "__device__ i64 half(i64 n) { return n / 2; }\n"
        "#ifdef __cplusplus\n}\n#endif\n"
        "extern \"C\" __device__ void f(const Context& context, f32* output, i64 n) {\n"
        "  for (i64 i = 0; i < n; ++i) output[i] = twice(i) + half(n);\n}\n");
  write("r.cpp",
        "extern \"C\" void r(double* const* output, long long n) {\n"
        "  for (int k = 0; k < 3; ++k) for (long long i = 0; i < n; ++i) output[k][i] = 2 * i + n / 2;\n}\n");
  const irisgen::Plan planned = plan(description("    reference: {source: r.cpp, function: r}\n"));
  EXPECT_TRUE(run(planned).passed);
  const std::string text = irisgen::emit_sources(planned).at(0).text;
  EXPECT_EQ(text.find("extern \"C\" __device__"), std::string::npos) << text;
  EXPECT_EQ(text.find("extern \"C\" {"), std::string::npos) << text;
  expect_part(text, "           __device__ i64 twice(i64 n)");
}

TEST_F(UserKernel, whose_linkage_a_macro_says_is_an_error) {
  expect_part(error_of(description(), source("output[0] = m;", "#define C_API extern \"C\"\nC_API void g() {}")),
              "k.hip:4:1: error: extern \"C\" is left out of an emitted file, and here it is in parts, or a macro's");
}

TEST_F(UserKernel, may_stand_in_a_namespace_without_a_name) {
  write("k.hip",
        "#include <iris/device/context.hpp>\nusing namespace iris::device;\nnamespace mine {\nnamespace {\n"
        "__device__ void f(const Context&, f32* output, i64 n) {\n"
        "  for (i64 i = 0; i < n; ++i) output[i] = i;\n}\n}\n}\n");
  write("r.cpp",
        "namespace { void r(double* const* output, long long n) {\n"
        "  for (int k = 0; k < 3; ++k) for (long long i = 0; i < n; ++i) output[k][i] = i;\n} }\n");
  std::string text = description("    reference: {source: r.cpp, function: r}\n");
  text.replace(text.find("entry: f"), 8, "entry: mine::f");
  EXPECT_TRUE(run(plan(text)).passed);
}

TEST_F(UserKernel, that_names_its_own_from_the_global_scope_is_told_where) {
  const std::string mine = "namespace mine { __device__ i64 g() { return 1; } struct S {}; } __device__ void h() {}";
  for (const auto& [line, expected] : std::vector<Unknown>{
           {"output[0] = ::mine::g();", "k.hip:6:15: error: '::mine' is not at global scope in an emitted file"},
           {"::mine::S s;", "k.hip:6:3: error: '::mine' is not at global scope in an emitted file"},
           {"::h();",
            "k.hip:6:3: error: '::h' is not at global scope in an emitted file, where this file's text has a "
            "namespace of its own; write 'h' without '::' before it"},
           {"output[0] = mine::g() + ::iris::device::thread_index();", "no error"}})
    expect_part(error_of(description(), source(line, mine)), expected);
}

TEST_F(UserKernel, that_adds_to_the_vocabulary_is_told_where) {
  expect_part(
      error_of(description(), source("output[0] = m;", "namespace iris::device { struct Own {}; }")),
      "k.hip:3:11: error: 'iris' is irisgen's own namespace, and this file's text has another one in an emitted file");
}

// Our own lines, which take the entry, are none of the user's.
TEST_F(UserKernel, that_cannot_be_called_is_told_of_in_its_own_lines) {
  write("k.hip",
        "#include <iris/device/context.hpp>\nusing namespace iris::device;\ntemplate <typename Config>\n"
        "  requires(Config::world > 100)\n__device__ void f(const Context&, f32* output) {}\n");
  const std::string report = problems_of(description());
  expect_part(report, "k.hip:5:17: error: 'f' cannot be taken as the description has it: ");
  EXPECT_EQ(report.find("after:"), std::string::npos) << report;
}

}  // namespace
}  // namespace iris::test::user_kernel_names_test
