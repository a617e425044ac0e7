#include "irisgen/generate.hpp"
#include "irisgen/source.hpp"
#include "tests/runtime/shift_kernel.hpp"
#include "tests/runtime/user_kernel_samples.hpp"

/// What a kernel's source says, and what becomes of it.
namespace iris::test::user_kernel_test {
namespace {

using irisgen::KernelPlan;

TEST_F(UserKernel, says_in_its_source_what_the_plan_needs) {
  write("k.hip", shift);
  const irisgen::Plan planned = plan(description());
  const KernelPlan& kernel = planned.kernels.at(0);
  ASSERT_EQ(planned.arguments.size(), 2u);
  EXPECT_EQ(planned.arguments[0].name, "input");
  EXPECT_EQ(planned.arguments[0].access, Access::read);
  EXPECT_TRUE(planned.arguments[0].symmetric);
  EXPECT_EQ(planned.arguments[1].name, "output");
  EXPECT_EQ(planned.arguments[1].access, Access::write);
  EXPECT_FALSE(planned.arguments[1].symmetric);
  EXPECT_EQ(planned.arguments[1].shape, std::vector<Dimension>{{"n"}});
  EXPECT_TRUE(kernel.waits);
  EXPECT_EQ(kernel.flags, kernel.number("blocks") * 3);
  EXPECT_TRUE(kernel.workspace.terms.empty());
  EXPECT_EQ(kernel.source->comment, "Doubles what comes from the rank before.");
  EXPECT_EQ(kernel.source->parameters.at(0).comment, "what the next rank doubles");
}

// Element is no type of the sum: what the source does not use, Config does not have.
TEST_F(UserKernel, has_a_config_of_what_it_uses) {
  write("k.hip", shift);
  std::vector<std::string> names;
  const irisgen::Plan planned = plan(description());
  for (const irisgen::Constant& constant : planned.kernels.at(0).constants) names.push_back(constant.name);
  EXPECT_EQ(names, (std::vector<std::string>{"world", "threads", "blocks", "Element"}));
}

TEST_F(UserKernel, takes_extents_that_are_known_at_launch) {
  write("k.hip", shift);
  write("k_reference.cpp", shift_reference);
  const irisgen::Plan planned = plan(description(std::string(with_reference) + "    shape: {n: dynamic}\n"));
  for (const std::int64_t n : {0, 1, 1000}) {
    const RunReport report = run(planned, {.extents = {{"n", n}}});
    EXPECT_TRUE(report.passed);
    EXPECT_EQ(report.elements, 3 * n);
  }
}

TEST_F(UserKernel, asks_for_flags_and_workspace_by_what_it_calls) {
  write("k.hip", R"(#include <iris/device/signal.hpp>
#include <iris/device/partition.hpp>
using namespace iris::device;
template <typename Config>
__device__ void f(const Context& context, f64* output, i64 m, i64 n) {
  Launch<Config> launch(context);
  const i64 first = flags<2 * Config::world + 1>(launch);
  const i64 rows = m + 2;
  f64* const slots = workspace<f64>(launch, Config::steps * rows * round_up(n, 4) + 5);
  output[0] = slots[first];
}
)");
  const std::string more = "    constants: {steps: 3}\n    world: 2\n";
  const KernelPlan fixed = plan(description(more + "    shape: {m: 10, n: 6}\n")).kernels.at(0);
  EXPECT_EQ(fixed.flags, fixed.number("blocks") * 2 + 5);
  std::int64_t bytes = 0;
  for (const ByteSize::Term& term : fixed.workspace.terms) {
    EXPECT_TRUE(term.extents.empty());
    bytes += term.bytes;
  }
  EXPECT_EQ(bytes, 2 * 8 * (3 * 12 * (6 + 3) + 5));  // of both buffers; rounding up takes 3 more at most
  EXPECT_FALSE(fixed.waits);

  const KernelPlan dynamic = plan(description(more + "    shape: {m: dynamic, n: 6}\n")).kernels.at(0);
  std::int64_t at_ten = 0;
  for (const ByteSize::Term& term : dynamic.workspace.terms) at_ten += term.bytes * (term.extents.empty() ? 1 : 10);
  EXPECT_EQ(at_ten, bytes);
}

TEST_F(UserKernel, may_say_itself_how_it_is_launched) {
  write("k.hip", R"(#include <iris/device/barrier.hpp>
#include <iris/device/partition.hpp>
using namespace iris::device;
struct Config {
  static constexpr i32 world = 3;
  static constexpr i32 blocks = 2;
  static constexpr i32 threads = 5 * 4;
};
__device__ void f(const Context& context, const f32* input, f32* output, i64 n) {
  Launch<Config> launch(context);
  same_block_barrier(launch, Wait::entry);
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) output[i] = input[i];
}
)");
  write("copy.cpp",
        "void copy(double* const* input, double* const* output, long long n) {\n"
        "  for (int r = 0; r < 3; ++r) for (long long i = 0; i < n; ++i) output[r][i] = input[r][i];\n}\n");
  const irisgen::Plan planned = plan(description("    reference: {source: copy.cpp, function: copy}\n"));
  EXPECT_EQ(planned.kernels[0].number("blocks"), 2);
  EXPECT_EQ(planned.kernels[0].number("threads"), 20);
  EXPECT_TRUE(run(planned).passed);
}

TEST_F(UserKernel, updates_what_is_there) {
  write("k.hip", R"(#include <iris/device/atomics.hpp>
#include <iris/device/partition.hpp>
using namespace iris::device;
template <typename Config>
__device__ void f(const Context& context, i32* totals, const i32* input, f32* seen, i64 n) {
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) {
    atomic_add(totals + i % 4, input[i]);
    seen[i] = context.rank;
  }
}
)");
  write("sum.cpp",
        "void sum(double* const* totals, const double* const* input, double* const* seen, long long n) {\n"
        "  for (int r = 0; r < 3; ++r)\n    for (long long i = 0; i < n; ++i) {\n"
        "      totals[r][i % 4] += input[r][i];\n      seen[r][i] = r;\n    }\n}\n");
  const irisgen::Plan planned =
      plan(description("    arguments: {totals: {shape: [4], access: update}}\n"
                       "    reference: {source: sum.cpp, function: sum}\n"));
  EXPECT_EQ(planned.arguments[0].access, Access::update);
  const RunReport report = run(planned, {.repeat = 3});
  EXPECT_TRUE(report.passed);
  ASSERT_EQ(report.outputs.size(), 2u);
  EXPECT_EQ(report.outputs[0].name, "totals");
  EXPECT_EQ(report.outputs[0].shape, std::vector<std::int64_t>{4});
  EXPECT_EQ(report.outputs[1].name, "seen");
}

TEST_F(UserKernel, brings_the_files_that_it_includes) {
  write("k.hip",
        "#pragma once\n#include <iris/device/partition.hpp>\n#include \"parts/twice.hpp\"\n"
        "#include \"parts/twice.hpp\"\n#define STEP threads.size\nusing namespace iris::device;\n"
        "template <typename Config>\n__device__ void f(const Context&, f32* output, i64 n) {\n"
        "  const ThreadGroup threads = grid_threads<Config>();\n"
        "  for (i64 i = threads.index; i < n; i += STEP) output[i] = twice(i);\n}\n");
  std::filesystem::create_directory(path("parts"));
  write("parts/twice.hpp",
        "#pragma once\n#include \"factor.hpp\"\n"
        "__device__ inline float twice(long long i) { return factor * i; }\n");
  write("parts/factor.hpp", "#pragma once\n#include <iris/device/numeric.hpp>\nconstexpr int factor = 2;");
  write("twice.cpp",
        "void twice(double* const* output, long long n) {\n"
        "  for (int r = 0; r < 3; ++r) for (long long i = 0; i < n; ++i) output[r][i] = 2 * i;\n}\n");
  const irisgen::Plan planned = plan(description("    reference: {source: twice.cpp, function: twice}\n"));
  EXPECT_TRUE(run(planned).passed);
  const std::string text = irisgen::emit_sources(planned).at(0).text;
  EXPECT_NE(text.find("#line 3 \"parts/twice.hpp\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("#line 1 \"parts/factor.hpp\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("#undef STEP\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("#include \""), std::string::npos) << text;
  EXPECT_EQ(text.find("#pragma once"), std::string::npos) << text;
}

TEST_F(UserKernel, is_read_again_where_a_file_has_changed) {
  const auto hash = [&] { return plan(description()).spec_hash; };
  write("k.hip", shift);
  const std::string first = hash();
  EXPECT_EQ(hash(), first);
  write("k.hip", std::string(shift) + "// more\n");
  EXPECT_NE(hash(), first);
  write("k.hip", shift);
  EXPECT_EQ(hash(), first);
}

TEST_F(UserKernel, gives_a_launcher_its_comments) {
  write("k.hip", shift);
  const irisgen::Target* targets[] = {irisgen::find_target("host")};
  std::string launcher;
  for (const irisgen::OutputFile& file : irisgen::generate(spec(description()), targets)) {
    if (file.name == "k.hpp") launcher = file.content;
  }
  EXPECT_NE(launcher.find("/// Doubles what comes from the rank before.\n"), std::string::npos) << launcher;
  EXPECT_NE(launcher.find("  /// `input`: (12), read; on the symmetric heap.\n  ///   what the next rank doubles\n"),
            std::string::npos)
      << launcher;
  EXPECT_NE(launcher.find("void operator()(const float* input, float* output, iris::Stream stream = nullptr)"),
            std::string::npos)
      << launcher;
}

TEST_F(UserKernel, takes_comments_as_Doxygen_has_them) {
  write("k.hip",
        "#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
        "/// @brief Writes ones.\n/// Twice.\n/// @tparam Config of the kernel\n/// @param[in] input is not\n/// read\n"
        "/// \\param[out] output ones\n"
        "template <typename Config>\n__device__ void f(const Context&, const f32* input, f32* output) {\n"
        "  output[0] = 1;\n}\n");
  const irisgen::KernelPlan kernel = plan(description()).kernels.at(0);
  EXPECT_EQ(kernel.source->comment, "Writes ones. Twice.");
  EXPECT_EQ(kernel.source->parameters.at(0).comment, "is not read");
  EXPECT_EQ(kernel.source->parameters.at(1).comment, "ones");
}

// A comment's end, or the backslash that would make a line comment go on, stays out of the launcher.
TEST_F(UserKernel, cannot_break_a_launcher_by_its_comments) {
  write("k.hip",
        "#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
        "/// first \\ \\\n/// \x01second */ /*\n__device__ void f(const Context&, f32* output) {\n"
        "  output[0] = 1;\n}\n");
  const irisgen::KernelPlan kernel = plan(description()).kernels.at(0);
  EXPECT_EQ(kernel.source->comment, "first /// second */ /*");
}

TEST_F(UserKernel, keeps_pragmas_but_once) {
  write("k.hip",
        "#pragma once\n#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
        "#pragma clang fp contract(off)  // products round once\n"
        "__device__ void f(const Context&, f32* output) { output[0] = 1; }\n");
  const std::string text = irisgen::emit_sources(plan(description())).at(0).text;
  EXPECT_NE(text.find("#pragma clang fp contract(off)"), std::string::npos) << text;
  EXPECT_EQ(text.find("#pragma once"), std::string::npos) << text;
}

// What never runs is no call; a pointer that moves, or a lambda's own, is no buffer of the entry.
TEST_F(UserKernel, that_names_what_never_runs_and_moves_pointers_is_taken) {
  write("k.hip", R"(#include <iris/device/rma.hpp>
using namespace iris::device;
__device__ f32 twice(f32 x) {
  decltype(twice(x)) y = x;
  static_assert(sizeof(twice(1.0f)) == 4 && !noexcept(twice(1.0f)));
  if constexpr (sizeof(f32) == 8) return twice(y); else return 2 * y;
}
constexpr i32 sum_of_table(i32 n) {
  i32* table = new i32[4]{1, 2, 3, n};
  const i32 sum = table[0] + table[3];
  delete[] table;
  return sum;
}
__device__ void f(const Context& context, const f32* input, f32* output, IRIS_SYMMETRIC f32* other, i64 n) {
  constexpr i32 one = sum_of_table(0);
  const auto read = [&](const f32* from, i64 i) { return load(context, from + i, 0); };
  const f32* from = input;
  f32 sum = 0;
  for (int step = 0; step < 2; ++step) {
    sum += step > 0 ? load(context, from, context.rank) : *from;
    from = other;
  }
  for (i64 i = 0; i < n; ++i) output[i] = one * twice(input[i]) + 0 * (read(other, i) + sum);
}
)");
  EXPECT_NO_THROW(plan(description()));
}

// Windows writes the mark; a comment at the end of a file may go on with a backslash.
TEST_F(UserKernel, whose_file_begins_or_ends_strangely_is_read_as_a_compiler_does) {
  const std::string text =
      "#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
      "constexpr i32 sum_to(i32 n) { return n == 0 ? 0 : n + sum_to(n - 1); }\n"
      "__device__ void f(const Context&, f32* output) { for (int i = 0; i < 12; ++i) output[i] = sum_to(4); }\n";
  write("r.cpp", "void r(double* const* output) { for (int i = 0; i < 36; ++i) output[i / 12][i % 12] = 10; } // \\");
  for (const std::string& file : {"\xEF\xBB\xBF" + text, text + "// \\", text + "// \\\n\n"}) {
    write("k.hip", file);
    EXPECT_TRUE(run(plan(description("    reference: {source: r.cpp, function: r}\n"))).passed) << file;
  }
}

}  // namespace
}  // namespace iris::test::user_kernel_test
