#include <stdexcept>

#include "tests/runtime/user_kernel_samples.hpp"

/// Of a wrong element `run` tells the line that stored it last.
namespace iris::test::watched_store_test {
namespace {

/// A file with an entry that has these statements; its line 8 is the first of them. Every rank is to have the values of
/// `input` in `output`.
std::string kernel(const std::string& statements, const std::string& before = "") {
  return "#include <iris/device/atomics.hpp>\n#include <iris/device/barrier.hpp>\n#include <iris/device/rma.hpp>\n" +
         (before.empty() ? "\n" : before) +
         "using namespace iris::device;\ntemplate <typename Config>\n"
         "__device__ void f(const Context& context, const typename Config::Element* input, IRIS_SYMMETRIC typename "
         "Config::Element* output, i64 n) {\n" +
         statements + "}\n";
}

constexpr const char* copied = R"(
void expected(const double* const* input, double* const* output, long long n) {
  for (int rank = 0; rank < 3; ++rank)
    for (long long i = 0; i < n; ++i) output[rank][i] = input[rank][i];
}
)";

class WatchedStore : public UserKernel {
 protected:
  /// What comes of a kernel of two blocks of four threads on three ranks.
  RunReport report_of(const std::string& source, RunOptions options = {}, const std::string& more = "") {
    write("k.hip", source);
    write("r.cpp", copied);
    const irisgen::Plan planned =
        plan(description("    config: {blocks: 2, threads: 4}\n"
                         "    reference: {source: r.cpp, function: expected}\n" +
                         more));
    if (!options.build_watched) options.build_watched = [planned] { return build_watched_operation(planned); };
    RunReport report = run(planned, options);
    EXPECT_FALSE(report.passed);
    EXPECT_TRUE(report.watched);
    return report;
  }

  static void expect_store(const RunReport& report, const std::string& place, int rank, int block, int thread) {
    ASSERT_TRUE(report.stored_by);
    EXPECT_EQ(report.stored_by->place, place);
    EXPECT_EQ(report.stored_by->rank, rank);
    EXPECT_EQ(report.stored_by->block, block);
    EXPECT_EQ(report.stored_by->thread, thread);
  }
};

// Thread 1 of block 1 has elements 5 and 13 of the eight at a time.
TEST_F(WatchedStore, is_named_with_its_line_and_thread) {
  const RunReport report =
      report_of(kernel("  const ThreadGroup threads = grid_threads<Config>();\n"
                       "  for (i64 i = threads.index; i < n; i += threads.size) output[i] = input[i];\n"
                       "  if (threads.index == 5 && context.rank == 2)\n"
                       "    output[5] = 1e6f;\n"));
  EXPECT_EQ(report.worst.rank, 2);
  EXPECT_EQ(report.worst.element.index, 5);
  expect_store(report, "k.hip:11:15", 2, 1, 1);
}

// The vocabulary's own lines are no help to who wrote the kernel.
TEST_F(WatchedStore, by_the_vocabulary_is_at_the_users_call) {
  const std::string copy =
      "  Launch<Config> launch(context);\n"
      "  for (i64 i = thread_index(); i < n && block_index() == 1; i += 4) output[i] = input[i];\n"
      "  if (!same_block_barrier(launch, Wait::entry)) return;\n";
  const RunReport element =
      report_of(kernel(copy + "  if (context.rank == 1 && block_index() == 1 && thread_index() == 2)\n"
                              "    store(context, output + 7, 1e6f, 0);\n"));
  EXPECT_EQ(element.worst.rank, 0);
  expect_store(element, "k.hip:12:5", 1, 1, 2);

  const RunReport packs =
      report_of(kernel(copy + "  if (context.rank == 1 && block_index() == 1 && thread_index() == 2) {\n"
                              "    f32 wrong[8] = {1e6f, 1, 2, 3, 4, 5, 6, 7};\n"
                              "    put<4>(context, wrong, output + 4, 8, 2);\n  }\n"));
  EXPECT_EQ(packs.worst.rank, 2);
  EXPECT_EQ(packs.worst.element.index, 4);
  expect_store(packs, "k.hip:13:5", 1, 1, 2);

  const RunReport atomic =
      report_of(kernel(copy + "  if (context.rank == 1 && block_index() == 1 && thread_index() == 3)\n"
                              "    atomic_add(on_rank(context, output + 11, 0), 1e6f);\n"));
  EXPECT_EQ(atomic.worst.rank, 0);
  expect_store(atomic, "k.hip:12:5", 1, 1, 3);
}

TEST_F(WatchedStore, in_a_function_of_ones_own_is_there) {
  const std::string helper =
      "struct Row { float values[6]; }; __attribute__((noinline)) __device__ void keep(Row* to, const Row& row) {\n"
      "  *to = row;\n}\n";
  const RunReport report =
      report_of(kernel("  if (thread_index() != 3 || block_index() != 0) return;\n"
                       "  for (i64 i = 0; i < n; ++i) output[i] = input[i];\n"
                       "  Row row;\n"
                       "  for (i64 i = 0; i < 6; ++i) row.values[i] = input[6 + i] + (i == 1 ? 1e6f : 0);\n"
                       "  if (context.rank == 0) keep(reinterpret_cast<Row*>(output + 6), row);\n",
                       helper));
  EXPECT_EQ(report.worst.element.index, 7);
  expect_store(report, "k.hip:5:7", 0, 0, 3);
}

TEST_F(WatchedStore, of_two_in_branches_is_the_one_that_ran) {
  const RunReport report =
      report_of(kernel("  if (block_index() != 0) return;\n"
                       "  for (i64 i = thread_index(); i < n; i += 4) {\n"
                       "    if (i != 6 || context.rank == 0)\n"
                       "      output[i] = input[i];\n"
                       "    else\n"
                       "      output[i] = 1e6f + context.rank;\n"
                       "  }\n"));
  expect_store(report, "k.hip:13:17", report.worst.rank, 0, 2);
  EXPECT_EQ(report.worst.element.index, 6);
}

TEST_F(WatchedStore, that_never_came_is_none) {
  const RunReport report =
      report_of(kernel("  for (i64 i = thread_index(); i < n; i += 4)\n"
                       "    if (i != 9) output[i] = input[i];\n"));
  EXPECT_EQ(report.worst.element.index, 9);
  EXPECT_FALSE(report.stored_by);
}

// Its neighbours in memory are stored later, by others.
TEST_F(WatchedStore, of_a_small_element_is_its_own) {
  const RunReport report = report_of(kernel("  if (block_index() != 0 || thread_index() != 0) return;\n"
                                            "  output[4] = static_cast<typename Config::Element>(Float16{0x7000});\n"
                                            "  for (i64 i = 0; i < n; ++i)\n"
                                            "    if (i != 4) output[i] = input[i];\n"),
                                     {}, "    dtype: f16\n");
  EXPECT_EQ(report.worst.element.index, 4);
  expect_store(report, "k.hip:9:13", report.worst.rank, 0, 0);
}

// Launches overlap, in buffers of their own: the order of all of them is repeated.
TEST_F(WatchedStore, is_that_of_the_launch_that_was_wrong) {
  const std::string source = kernel(
      "  if (thread_index() != 1 || block_index() != 1) return;\n"
      "  for (i64 i = 0; i < n; ++i) output[i] = input[i];\n"
      "  if (input[0] > 100)\n"
      "    output[3] = 1e6f;\n");
  BuffersOfRanks inputs;
  for (int rank = 0; rank < 3; ++rank) {
    irisgen::Values values(12, 2.0);
    values[0] = rank == 1 ? 101 : 5;
    inputs.push_back(to_bytes(values, Dtype::f32));
  }
  for (const int repeat : {1, 3, 9}) {
    const RunReport report = report_of(source, {.seed = 7, .repeat = repeat, .inputs = {{"input", inputs}}});
    EXPECT_EQ(report.worst.rank, 1);
    expect_store(report, "k.hip:11:15", 1, 1, 1);
  }
}

TEST_F(WatchedStore, costs_nothing_where_all_is_right) {
  write("k.hip", kernel("  for (i64 i = thread_index(); i < n; i += Config::threads) output[i] = input[i];\n"));
  write("r.cpp", copied);
  const irisgen::Plan planned = plan(description("    reference: {source: r.cpp, function: expected}\n"));
  const RunReport report = run(planned, {.build_watched = []() -> BuiltOperation {
                                 ADD_FAILURE() << "built";
                                 throw std::runtime_error("built");
                               }});
  EXPECT_TRUE(report.passed);
  EXPECT_FALSE(report.watched);
}

// The report of what is wrong is not lost by what can be said of it besides.
TEST_F(WatchedStore, that_cannot_be_found_is_left_out) {
  const auto wrong_by = [](const std::string& value) {
    return kernel("  for (i64 i = thread_index(); i < n; i += 4) output[i] = i == 0 ? " + value + " : input[i];\n");
  };
  write("r.cpp", copied);
  const std::string text =
      description("    config: {threads: 4}\n    reference: {source: r.cpp, function: expected}\n");
  write("k.hip", wrong_by("1e6f"));
  const irisgen::Plan planned = plan(text);
  const RunReport unbuilt =
      run(planned, {.build_watched = []() -> BuiltOperation { throw std::runtime_error("no compiler"); }});
  EXPECT_EQ(unbuilt.wrong, 3);
  EXPECT_FALSE(unbuilt.watched);

  // What is seen in the second run is not what went wrong in the first.
  write("k.hip", wrong_by("2e6f"));
  const irisgen::Plan other = plan(text);
  const RunReport changed = run(planned, {.build_watched = [&] { return build_watched_operation(other); }});
  EXPECT_EQ(changed.wrong, 3);
  EXPECT_FALSE(changed.watched);
}

TEST_F(WatchedStore, is_for_the_cpu) {
  write("k.hip", kernel("  output[0] = 1;\n"));
  EXPECT_THROW(build_watched_operation(plan(description(), "gfx942")), std::invalid_argument);
}

}  // namespace
}  // namespace iris::test::watched_store_test
