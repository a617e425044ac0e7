#include "tests/runtime/user_kernel_samples.hpp"

/// What is wrong with a user's kernel: an error with its place, never a crash or half a result.
namespace iris::test::user_kernel_errors_test {
namespace {

/// A source that is right, but for its body and what it takes.
std::string source(const std::string& parameters = "f32* output, i64 n", const std::string& body = "output[0] = n;",
                   const std::string& before = "") {
  return "#include <iris/device/barrier.hpp>\n#include <iris/device/rma.hpp>\nusing namespace iris::device;\n" +
         before + "template <typename Config>\n__device__ void f(const Context& context, " + parameters + ") {\n  " +
         body + "\n}\n";
}

/// "f32* b0, f32* b1, …"
std::string many_buffers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i > 0 ? ", f32* b" : "f32* b") + std::to_string(i);
  return text;
}

/// The same, of a function that is no template.
std::string plain(const std::string& body, const std::string& before) {
  std::string text = source("f32* output, i64 n", body, before);
  return text.erase(text.find("template <typename Config>\n"), 27);
}

struct Wrong {
  const char* what;
  std::string description;  ///< more lines of it
  std::string source;
  std::vector<std::string> expected;  ///< all of it in the report
};

const std::vector<Wrong>& wrong_sources() {
  static const std::vector<Wrong> all = {
      {"another entry",
       "",
       "namespace a { void g() {} }\nvoid h() {}\n",
       {"spec.yaml:4:13: error: for host: 'f' of k.hip cannot be read; see ",
        "k.hip:1:1: error: there is no function 'f' here", "there are: a::g, h"}},
      {"no function", "", "", {"there is no function 'f' here, nor any other"}},
      {"two functions",
       "",
       "void f(int) {}\nvoid f(float) {}\n",
       {"k.hip:2:6: error: several functions are called 'f', the first at ", "k.hip:1:6; rename one"}},
      {"a template over two types",
       "",
       "template <typename A, typename B> void f(A, B) {}\n",
       {"k.hip:1:40: error: 'f' must be a template over one type, Config, or no template"}},
      {"a template over a number", "", "template <int n> void f() {}\n", {"'f' must be a template over one type"}},
      {"a result",
       "",
       "#include <iris/device/context.hpp>\nint f(const iris::device::Context&, float* o) { return 0; }\n",
       {"k.hip:2:5: error: 'f' returns 'int', and nobody would take it; make it void"}},
      {"no Context",
       "",
       "void f(float* output) {}\n",
       {"k.hip:1:6: error: the first parameter of 'f' must be const iris::device::Context&"}},
      {"bytes",
       "",
       source("char* output", "output[0] = 1;"),
       {"k.hip:5:49: error: 'output' points to 'char'; buffers are of f64"}},
      {"pointers to pointers", "", source("f32** output", ""), {"'output' points to 'f32 *'; buffers are of f64"}},
      {"an unknown extent",
       "",
       source("f32* output, i64 rows", ""),
       {"k.hip:5:60: error: 'rows' is no extent of the shape (n)"}},
      {"a type that numbers do not have",
       "",
       source("f32* output, bf16 scale", ""),
       {"k.hip:5:61: error: 'scale' is 'bf16'; what is passed are buffers, extents, and numbers by value, which are "
        "f32"}},
      {"a number of the type of words", "", source("f32* output, short n16", ""), {"'n16' is 'short'; what is passed"}},
      {"a fraction for a whole number",
       "    arguments: {steps: {value: 0.5}}\n",
       source("f32* output, i32 steps", "output[0] = steps;"),
       {"spec.yaml:10:32: error: for host: 'steps': 0.5 is no i32; give a whole number from -2147483648 to "
        "2147483647"}},
      {"a number out of range",
       "    arguments: {steps: {value: 3e9}}\n",
       source("f32* output, i32 steps", "output[0] = steps;"),
       {"spec.yaml:10:32: error: for host: 'steps': 3e+09 is no i32; give"}},
      {"a number with a shape",
       "    arguments: {alpha: {shape: [n]}}\n",
       source("f32* output, f32 alpha", "output[0] = alpha;"),
       {"spec.yaml:10:17: error: for host: 'alpha' is a number at ", "k.hip:5:60, without shape and access"}},
      {"a buffer with a value",
       "    arguments: {output: {value: 2}}\n",
       source(),
       {"spec.yaml:10:33: error: for host: 'output' is a buffer at ", "only a number has a value"}},
      {"a narrow extent", "", source("f32* output, i32 n"), {"extents are i64, and 'n' is 'i32'"}},
      {"a float", "", source("f32* output, f32 n"), {"extents are i64, and 'n' is 'f32'"}},
      {"a parameter without a name", "", source("f32*, i64 n", ""), {"k.hip:5:47: error: a parameter without a name"}},
      {"any number of arguments",
       "",
       "#include <iris/device/context.hpp>\nvoid f(const iris::device::Context&, float* o, ...) {}\n",
       {"'f' takes any number of arguments"}},
      {"nothing written",
       "",
       source("const f32* input", ""),
       {"spec.yaml:5:12: error: for host: f at ", "writes no buffer"}},
      {"what does not instantiate",
       "",
       source("f32* output, i64 n", "output[0] = Config::missing;"),
       {"k.hip:6:23: error: no member named 'missing' in 'irisgen_reading::Config'"}},
      {"a buffer of other ranks that is not marked",
       "",
       source("f32* output, f32* sent, i64 n",
              "const f32* begin = sent + 1; output[0] = load(context, &begin[n], 0); store(context, output + n, 1.0f, "
              "0);"),
       {"k.hip:6:58: error: 'sent' is reached on another rank, and launches would take any memory for it; write "
        "IRIS_SYMMETRIC before its type, at ",
        "k.hip:5:61", "k.hip:6:88: error: 'output' is reached on another rank"}},
      {"recursion",
       "",
       source("f32* output, i64 n", "output[0] = down(n);",
              "__device__ i64 down(i64 n) { return n == 0 ? 0 : down(n - 1) + 1; }\n"),
       {"k.hip:4:50: error: 'down' calls itself, for which a thread has no stack; write a loop"}},
      {"recursion by way of another",
       "",
       source("f32* output, i64 n", "output[0] = even(n);",
              "__device__ bool odd(i64 n);\n__device__ bool even(i64 n) { return n == 0 || odd(n - 1); }\n"
              "__device__ bool odd(i64 n) { return n != 0 && even(n - 1); }\n"),
       {"k.hip:6:47: error: 'even' is called again before it ends, for which a thread has no stack"}},
      {"an allocation",
       "",
       source("f32* output", "output[0] = *new f32(3);"),
       {"k.hip:6:16: error: kernels have no allocator; use an array, or ask for a workspace"}},
      {"a macro called Config",
       "",
       source("f32* output", "output[0] = Config::world;", "#define Config Cfg\n"),
       {"k.hip:6:17: error: 'f' cannot be taken for Config", "a macro may have changed a name"}},
      {"a syntax error", "", source("f32* output", "output[0] = ;"), {"k.hip:6:15: error: expected expression"}},
      {"the standard library",
       "",
       "#include <vector>\n",
       {"k.hip:1:10: error: 'vector' file not found; kernels are freestanding"}},
      {"a file that is not there", "", "#include \"none.hpp\"\n", {"k.hip:1:10: error: 'none.hpp' file not found"}},
      {"a file that includes itself", "", "#include \"k.hip\"\n", {"k.hip:1:10: error: #include nested too deeply"}},
      {"an include under a condition",
       "",
       source("f32* output", "output[0] = 1;", "#if defined(__AMDGCN__)\n#include \"amd.hpp\"\n#endif\n"),
       {"k.hip:5:2: error: this #include stands under a condition that does not hold for the CPU"}},
      {"templates without end",
       "",
       source("f32* output", "output[0] = Deep<0>::value;",
              "template <int n> struct Deep { static constexpr int value = Deep<n + 1>::value; };\n"),
       {"recursive template instantiation exceeded maximum depth"}},
      {"a constant expression without end",
       "",
       source("f32* output", "constexpr int n = forever(0); output[0] = n;",
              "constexpr int forever(int n) { return forever(n + 1); }\n"),
       {"constexpr variable 'n' must be initialized by a constant expression"}},
      {"a megabyte", "", std::string((1 << 20) + 1, ' '), {"k.hip:1:1: error: is larger than 1 MiB"}},
      {"ten megabytes", "", std::string(10 << 20, '/'), {"is larger than 1 MiB"}},
      {"brackets without end",
       "",
       source("f32* output", "output[0] = " + std::string(5000, '(') + ";"),
       {"bracket nesting level exceeded maximum"}},
      {"flags in two places",
       "",
       source("f32* output", "Launch<Config> launch(context);\n  output[0] = flags<1>(launch) + flags<2>(launch);"),
       {"k.hip:7:34: error: flags are asked for at ", "k.hip:7:15 already; ask once, for all of them"}},
      {"a workspace of unknown size",
       "",
       source("f32* output, i64 n", "Launch<Config> launch(context);\n  output[0] = *workspace<f32>(launch, n / 2);"),
       {"k.hip:7:41: error: cannot tell how many elements that is"}},
      {"more arguments than a launch has",
       "",
       source(many_buffers(32), "b0[0] = 1;"),
       {"takes 32 buffers, numbers and dynamic extents, and a launch has room for 31; let some share a buffer"}},
      {"a workspace beyond all bounds",
       "",
       source("f32* output, i64 n",
              "Launch<Config> launch(context);\n"
              "  output[0] = *workspace<f32>(launch, 1099511627776 * n * n * n);"),
       {"k.hip asks for a workspace of over 2^50 bytes; make the shape smaller"}},
      {"a workspace without a size",
       "",
       source("f32* output", "Launch<Config> launch(context);\n  output[0] = *launch.template workspace<f32>();"),
       {"k.hip:7:", "does not say how much; write workspace<T>(launch, count)"}},
      {"a constant that nothing uses",
       "    constants: {steps: 2}\n",
       source(),
       {"spec.yaml:10:17: error: for host: k.hip does not use Config::steps; remove it"}},
      {"a constant that every Config has",
       "    constants: {threads: 2}\n",
       source(),
       {"'threads' is a member of every Config; choose another name, or set it in config"}},
      {"a vector that nothing uses",
       "    config: {vector: 2}\n",
       source(),
       {"spec.yaml:10:22: error: for host: k.hip does not use Config::vector; remove it"}},
      {"a key that goes with patterns", "    config: {chunk: 64}\n", source(), {"does not use 'chunk'"}},
      {"a buffer that is not there",
       "    arguments: {outputs: {shape: [n]}}\n",
       source(),
       {"spec.yaml:10:17: error: for host: f takes no buffer or number 'outputs'; did you mean 'output'?"}},
      {"reading what may be written",
       "    arguments: {output: {access: read}}\n",
       source(),
       {"spec.yaml:10:34: error: for host: 'output' is read here, but a pointer to what is not const at ",
        "k.hip:5:48"}},
      {"writing what is const",
       "    arguments: {input: {access: update}}\n",
       source("const f32* input, f32* output", ""),
       {"'input' is read and written here, but a pointer to const at ", "k.hip:5:54; make both agree"}},
      {"an unknown name in a shape",
       "    arguments: {output: {shape: [m + 2]}}\n",
       source(),
       {"spec.yaml:10:34: error: for host: not a dimension: 'm' is neither an extent, nor world, nor one of the "
        "constants"}},
      {"a product of extents",
       "    arguments: {output: {shape: [n * n]}}\n",
       source(),
       {"a dimension depends on one extent, not on n and n; write two dimensions"}},
      {"a fraction",
       "    arguments: {output: {shape: [n / 5]}}\n",
       source(),
       {"n = 12 is not a multiple of 5, as 'n / 5' needs"}},
      {"fewer than none",
       "    arguments: {output: {shape: [n - 13]}}\n",
       source(),
       {"'n - 13' is a negative number of elements"}},
      {"what is no expression",
       "    arguments: {output: {shape: [\"n +\"]}}\n",
       source(),
       {"a number or a name is missing in 'n +'"}},
      {"more than there is",
       "    arguments: {output: {shape: [n, 1099511627776]}}\n",
       source(),
       {"has more than 2^40 elements on all ranks"}},
      {"a world that the source does not mean",
       "",
       plain("Launch<Own> launch(context);\n  output[0] = n;",
             "struct Own { static constexpr i32 world = 4, blocks = 2, threads = 32; };\n"),
       {"spec.yaml:7:12: error: for host: a world of 3 ranks, but the Launch at ",
        "k.hip:6:", "is for 4; make them agree"}},
      {"blocks that the source does not mean",
       "    config: {blocks: 3}\n",
       plain("Launch<Own> launch(context);\n  output[0] = n;",
             "struct Own { static constexpr i32 world = 3, blocks = 2, threads = 32; };\n"),
       {"spec.yaml:10:22: error: for host: blocks is 3 here, but the Launch at ",
        "has 2; remove it here or make both agree"}},
      {"a Launch without threads",
       "",
       plain("Launch<Own> launch(context);\n  output[0] = n;",
             "struct Own { static constexpr i32 world = 3, blocks = 2; };\n"),
       {"k.hip:4:8: error: 'Own' has no constant 'threads', which a Launch needs; add static constexpr i32 threads"}},
      {"a Launch of another configuration in a template",
       "",
       source("f32* output, i64 n", "Launch<Own> launch(context);\n  output[0] = n;",
              "struct Own { static constexpr i32 world = 3, blocks = 2, threads = 32; };\n"),
       {"f is a template over Config, but makes the Launch at ", "make it Launch<Config>"}},
      {"a Launch of too many blocks",
       "",
       plain("Launch<Own> launch(context);\n  output[0] = n;",
             "struct Own { static constexpr i64 world = 3, blocks = 4294967297, threads = 32; };\n"),
       {"'Own' has blocks = 4294967297; write from 1 to 65535"}},
      {"a workspace of an extent that has changed",
       "",
       source("f32* output, i64 n",
              "Launch<Config> launch(context);\n  n *= 2;\n  output[0] = *workspace<f32>(launch, n);"),
       {"cannot tell how many elements that is"}},
      {"a workspace in several sizes",
       "",
       source(
           "f32* output, i64 n", "Launch<Config> launch(context);\n  output[0] = *w<f32>(launch) + *w<f64>(launch);",
           "template <typename T, typename L> __device__ T* w(const L& launch) { return workspace<T>(launch, 8); }\n"),
       {"is asked for in several sizes"}},
      {"a workspace that doubles without end",
       "",
       source("f32* output, i64 n",
              [] {
                std::string body = "Launch<Config> launch(context);\n  const i64 a0 = n;\n";
                for (int i = 1; i < 60; ++i) {
                  const std::string before = "a" + std::to_string(i - 1);
                  body += "  const i64 a" + std::to_string(i) + " = " + before + " + " + before + ";\n";
                }
                return body + "  output[0] = *workspace<f32>(launch, a59);";
              }()),
       {"cannot tell how many elements that is"}},
      {"a buffer with the name of the entry's Context",
       "",
       source("f32* Config_, f32* n", ""),
       {"'n' is an extent of the shape, too; rename the buffer"}},
      {"a comment that begins behind an include",
       "",
       "#include <iris/device/atomics.hpp> /* the counters\n of others */\n" + source(),
       {"k.hip:1:2: error: a comment begins in the line of this #include; put it elsewhere"}},
      {"a main loop",
       "",
       "#include <iris/device/main_loop.hpp>\n" + source(),
       {"the matrix units' main loops are for irisgen's own templates"}},
  };
  return all;
}

TEST_F(UserKernel, that_is_wrong_is_told_where) {
  EXPECT_EQ(error_of(description(), source()), "no error");
  for (const Wrong& wrong : wrong_sources()) {
    SCOPED_TRACE(wrong.what);
    const std::string report = error_of(description(wrong.description), wrong.source);
    for (const std::string& words : wrong.expected)
      EXPECT_NE(report.find(words), std::string::npos) << words << "\n" << report;
  }
}

TEST_F(UserKernel, of_which_there_is_no_file_is_an_error) {
  const std::string words =
      "spec.yaml:4:13: error: for host: cannot read 'k.hip': no such file, or it may not be read: ";
  try {
    plan(description());
    FAIL() << "there is no file";
  } catch (const irisgen::SpecError& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST_F(UserKernel, whose_reference_has_other_files_than_it_writes_is_told_where) {
  write("k.hip", source("const f32* input, f32* output, f32* sums, i64 n", "output[0] = sums[0] = n;"));
  try {
    plan(description("    reference: {files: {output: \"a.npy\", input: \"b.npy\", suns: \"c.npy\"}}\n"));
    FAIL() << "there is one file too few, and two too many";
  } catch (const irisgen::SpecError& error) {
    const std::string report = error.what();
    for (const char* words : {": error: for host: f writes 'sums', of which the reference has no file; add it to files",
                              ": error: for host: f writes no buffer 'input'",
                              ": error: for host: f writes no buffer 'suns'; did you mean 'sums'?"}) {
      EXPECT_NE(report.find(words), std::string::npos) << words << "\n" << report;
    }
    EXPECT_NE(report.find("suns: \"c.npy\""), std::string::npos) << report;
  }
}

// A reader is what the runtime gives; without one, the plan says so.
TEST_F(UserKernel, without_a_reader_is_an_error) {
  write("k.hip", source());
  irisgen::Spec bare = irisgen::parse_spec(path("spec.yaml"), description());
  EXPECT_THROW(irisgen::make_plan(bare.kernels.at(0), 3, *irisgen::find_target("host")), irisgen::SpecError);
}

TEST_F(UserKernel, whose_reference_is_wrong_is_told_where) {
  write("k.hip", source());
  const auto error = [&](const std::string& text) -> std::string {
    write("r.cpp", text);
    try {
      reference_of(plan(description("    reference: {source: r.cpp, function: r}\n")));
    } catch (const std::runtime_error& problem) {
      return problem.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("void r(double* const* output, long long n) { output[0][0] = n; }\n"), "no error");
  const auto expect = [&](const std::string& text, const std::string& words) {
    EXPECT_NE(error(text).find(words), std::string::npos) << error(text);
  };
  expect("void r(float* const* output) {}\n", "r.cpp:1:22: error: 'output' must be double* const*");
  expect("void r(const double* const* output) {}\n", "'output' must be double* const*");
  expect("void r(double** output) {}\n", "'output' must be double* const*");
  expect("void r(double* const* result) {}\n", "the kernel has no buffer 'result'; it has output");
  expect("void r(double* const* output, int n) {}\n", "extents are i64, and 'n' is 'int'");
  expect("void r(double* const* output, float alpha) {}\n",
         "the kernel has no extent and no number 'alpha'; it has (n)");
  expect("void s() {}\n", "there is no function 'r' here; there are: s");
  expect("#include <cmath>\nvoid r(double* const* output) {}\n", "r.cpp:1:10: error: 'cmath' file not found");
  expect("extern \"C\" int system(const char*);\nvoid r(double* const* output) { system(\"true\"); }\n",
         "system(char const*)' is used but not defined");
}

TEST_F(UserKernel, whose_reference_takes_roots_and_powers_has_the_c_library_s) {
  write("k.hip",
        "#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
        "__device__ void f(const Context&, f64* output) { output[0] = 1.4142135623730951; }\n");
  write("r.cpp",
        "void r(double* const* output) {\n  for (int i = 0; i < 3; ++i) output[i][0] = __builtin_pow(2, 0.5);\n}\n");
  const irisgen::Plan planned =
      plan(description("    arguments: {output: {shape: [1]}}\n    shape: {n: 1}\n    dtype: f64\n"
                       "    reference: {source: r.cpp, function: r, relative: 1e-15}\n"));
  EXPECT_TRUE(run(planned).passed);
}

}  // namespace
}  // namespace iris::test::user_kernel_errors_test
