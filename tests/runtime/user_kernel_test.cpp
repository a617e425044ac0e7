#include <cstdlib>
#include <iterator>

#include "iris/npy.hpp"
#include "iris/values.hpp"
#include "irisgen/generate.hpp"
#include "irisgen/source.hpp"
#include "runtime/host/address_sanitizer.hpp"
#include "tests/runtime/user_kernel_samples.hpp"

/// What a kernel's source says, and what becomes of it.
namespace iris::test {
namespace {

using irisgen::KernelPlan;

/// Twice the values of the rank before.
constexpr const char* shift = R"(#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

/// Doubles what comes
/// from the rank before.
/// \param input what the next rank doubles
template <typename Config>
__device__ void f(const Context& context, IRIS_SYMMETRIC const typename Config::Element* input,
                  typename Config::Element* output, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const i32 from = peer_at<Config::world>(context, Config::world - 1);
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) output[i] = 2 * load(context, input + i, from);
  same_block_barrier(launch, Wait::exit);
}
)";

constexpr const char* shift_reference = R"(#include <iris/device/types.hpp>
template <typename Config>
void expected(const double* const* input, double* const* output, iris::device::i64 n) {
  for (int rank = 0; rank < Config::world; ++rank)
    for (long long i = 0; i < n; ++i) output[rank][i] = 2 * input[(rank + Config::world - 1) % Config::world][i];
}
)";

constexpr const char* with_reference = "    reference: {source: k_reference.cpp, function: expected}\n";

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

TEST_F(UserKernel, is_verified_by_a_function_of_ones_own) {
  write("k.hip", shift);
  write("k_reference.cpp", shift_reference);
  const RunReport report = run(plan(description(with_reference)), {.repeat = 5});
  EXPECT_TRUE(report.verified);
  EXPECT_TRUE(report.passed);
  EXPECT_EQ(report.elements, 5 * 3 * 12);
}

TEST_F(UserKernel, with_an_error_is_found_wrong) {
  std::string wrong = shift;
  wrong.replace(wrong.find("2 * load"), 1, "3");
  write("k.hip", wrong);
  write("k_reference.cpp", shift_reference);
  const RunReport report = run(plan(description(with_reference)));
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.wrong, 3 * 12);
}

TEST_F(UserKernel, without_a_reference_is_not_called_verified) {
  write("k.hip", shift);
  const RunReport report = run(plan(description()));
  EXPECT_FALSE(report.verified);
  EXPECT_EQ(report.elements, 0);
}

TEST_F(UserKernel, is_verified_by_files) {
  write("k.hip", shift);
  BuffersOfRanks inputs;
  for (int rank = 0; rank < 3; ++rank) {
    irisgen::Values values;
    irisgen::Values expected;
    for (int i = 0; i < 12; ++i) values.push_back(100 * rank + i + 0.5);
    for (int i = 0; i < 12; ++i) expected.push_back(2 * (100 * ((rank + 2) % 3) + i + 0.5));
    inputs.push_back(to_bytes(values, Dtype::f32));
    write_npy(path("expected" + std::to_string(rank) + ".npy"), {Dtype::f32, {12}, to_bytes(expected, Dtype::f32)});
  }
  const irisgen::Plan planned = plan(description("    reference: {files: {output: \"expected{rank}.npy\"}}\n"));
  EXPECT_TRUE(run(planned, {.inputs = {{"input", inputs}}}).passed);
  inputs[1][3] ^= std::byte{1};
  const RunReport wrong = run(planned, {.inputs = {{"input", inputs}}});
  EXPECT_EQ(wrong.wrong, 1);
  EXPECT_EQ(wrong.worst.rank, 2);
  EXPECT_EQ(wrong.worst.element.index, 0);
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

// What only a compiler of another target sees wrong, it says of the user's own line.
TEST_F(UserKernel, keeps_its_lines_in_what_compilers_say) {
  write("k.hip",
        "#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
        "__device__ void f(const Context&, f32* output) {\n#if defined(__AMDGCN__)\n  output[0] = nonsense;\n"
        "#endif\n  output[0] = 1;\n}\n");
  const irisgen::Plan planned = plan(description(), "gfx942");
  try {
    build_operation(planned, "clang");
    FAIL() << "compiled";
  } catch (const CompileError& error) {
    EXPECT_NE(std::string(error.what()).find("k.hip:5:15: error: use of undeclared identifier 'nonsense'"),
              std::string::npos)
        << error.what();
  }
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

TEST_F(UserKernel, names_what_a_deadlock_waits_for_and_the_line) {
  std::string waiting = shift;
  waiting.replace(waiting.find("  const i32 from"), 0,
                  "  const i64 own = flags<1>(launch);\n"
                  "  if (!block_wait_acquire(launch, own, 1, 2, Wait::step)) return;\n");
  write("k.hip", waiting);
  try {
    run(plan(description()));
    FAIL() << "it ended";
  } catch (const std::runtime_error& error) {
    const std::string report = error.what();
    EXPECT_NE(report.find("k, rank 0, block 0, at k.hip:15:8: waits for rank 2 to "), std::string::npos) << report;
  }
}

#ifndef IRIS_ADDRESS_SANITIZER  // which ends the process, and says more
TEST_F(UserKernel, names_the_line_and_the_thread_of_a_crash) {
  const auto failure = [&](const std::string& statement) -> std::string {
    write("k.hip",
          "#include <iris/device/context.hpp>\nusing namespace iris::device;\n\n"
          "__device__ void f(const Context& context, f32* output, i64 n) {\n  output[0] = 1;\n"
          "  if (context.rank == 1 && thread_index() == 5) {\n    " +
              statement + "\n  }\n}\n");
    try {
      run(plan(description()));
      return "it ended";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  };
  const std::string far = failure("output[-(n << 38)] = 1;");
  EXPECT_NE(far.find("k, rank 1, block 0, thread 5, at k.hip:7:24: accesses address 0x"), std::string::npos) << far;
  EXPECT_TRUE(far.ends_with(" where there is no memory; does an index leave its buffer?")) << far;
  // The array is the whole kernel's, inlined.
  const std::string large = failure("volatile f32 large[32 << 10];\n    large[static_cast<i64>(output[1])] = 1;");
  EXPECT_NE(large.find("needs more than the 60 KiB of stack that a thread has on the CPU; make its arrays smaller, or "
                       "shared"),
            std::string::npos)
      << large;
}
#endif

TEST_F(UserKernel, names_the_line_of_a_block_sync_that_not_all_reach) {
  write("k.hip",
        "#include <iris/device/context.hpp>\nusing namespace iris::device;\n\n"
        "__device__ void wait_for_all() {\n  sync_block();\n}\n\n"
        "__device__ void f(const Context&, f32* output) {\n  output[0] = 1;\n"
        "  if (thread_index() > 3) wait_for_all();\n}\n");
  try {
    run(plan(description()));
    FAIL() << "it ended";
  } catch (const std::runtime_error& error) {
    const std::string report = error.what();
    EXPECT_NE(
        report.find(
            "block 0, at k.hip:5:3: stands at a block sync with 28 threads, which 4 ended threads will never reach"),
        std::string::npos)
        << report;
  }
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

// Both would show what was there before.
TEST_F(UserKernel, whose_reference_leaves_something_out_is_not_verified) {
  write("k.hip",
        "#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
        "__device__ void f(const Context&, f32* output) {}\n");
  write("r.cpp", "void r(double* const* output) { output[0][0] = 1; }\n");
  try {
    run(plan(description("    reference: {source: r.cpp, function: r}\n")));
    FAIL() << "it was verified";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("does not say what element 1 of 'output' is on rank 0"), std::string::npos)
        << error.what();
  }
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

// Both would be NaN, whatever they make of it.
TEST_F(UserKernel, whose_reference_reads_what_is_only_written_is_not_verified) {
  write("k.hip",
        "#include <iris/device/context.hpp>\nusing namespace iris::device;\n"
        "__device__ void f(const Context&, f32* output) { output[0] += 2; }\n");
  write("r.cpp",
        "void r(double* const* output) {\n"
        "  for (int i = 0; i < 36; ++i) output[i / 12][i % 12] = i == 3 ? output[0][3] + 1 : 0;\n}\n");
  try {
    run(plan(description("    reference: {source: r.cpp, function: r}\n")));
    FAIL() << "it was verified";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("gives another element 3 of 'output' on rank 0 when it is called again"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace iris::test
