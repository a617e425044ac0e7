#include <cstddef>
#include <stdexcept>
#include <string>

#include "iris/npy.hpp"
#include "iris/values.hpp"
#include "tests/runtime/shift_kernel.hpp"
#include "tests/runtime/user_kernel_samples.hpp"

/// What a user's kernel is verified by: a function of one's own, files, or nothing.
namespace iris::test::user_kernel_reference_test {
namespace {

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
}  // namespace iris::test::user_kernel_reference_test
