#include <stdexcept>
#include <string>

#include "runtime/host/address_sanitizer.hpp"
#include "tests/runtime/shift_kernel.hpp"
#include "tests/runtime/user_kernel_samples.hpp"

/// Lines of a user's source in what is said of it where it does not compile, waits for ever or crashes.
namespace iris::test::user_kernel_lines_test {
namespace {

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

}  // namespace
}  // namespace iris::test::user_kernel_lines_test
