#include <algorithm>

#include "irisgen/generate.hpp"
#include "tests/runtime/reviewed_file.hpp"
#include "tests/runtime/user_kernel_samples.hpp"

/// Numbers that a user's kernel takes by value.
namespace iris::test::user_kernel_scalars_test {
namespace {

/// One of each type, in an order of the user's own.
constexpr const char* scale = R"(#include <iris/device/partition.hpp>
using namespace iris::device;

/// \param alpha what the values are multiplied by
template <typename Config>
__device__ void f(const Context& context, f32 alpha, const typename Config::Element* input, i32 steps, f64 beta,
                  typename Config::Element* output, u64 large, i64 n, i64 shift, u32 mask, bool negative) {
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) {
    const f64 value = alpha * input[i] + beta * steps + shift + (mask & 4) + (large >> 40);
    output[i] = negative ? -value : value;
  }
}
)";

constexpr const char* values =
    "    arguments: {alpha: {value: 0.5}, steps: {value: -3}, beta: {value: 0.25}, large: {value: 2199023255552},\n"
    "                shift: {value: 7}, mask: {value: 4}, negative: {value: true}}\n";

constexpr const char* with_reference = "    reference: {source: r.cpp, function: r, relative: 1e-6, absolute: 1e-5}\n";

/// What the kernel computes with these numbers, by itself.
constexpr const char* fixed_reference =
    "void r(const double* const* input, double* const* output, long long n) {\n"
    "  for (int r = 0; r < 3; ++r)\n"
    "    for (long long i = 0; i < n; ++i) output[r][i] = -(0.5 * input[r][i] - 0.75 + 7 + 4 + 2);\n}\n";

class UserScalars : public UserKernel {
 protected:
  void SetUp() override {
    UserKernel::SetUp();
    if (IsSkipped()) return;
    write("k.hip", scale);
    write("r.cpp", fixed_reference);
  }
  irisgen::Plan planned() const { return plan(description(std::string(values) + with_reference)); }
  RunReport launch(const irisgen::Plan& planned) const { return run(planned, {.scalars = planned.values}); }
};

TEST_F(UserScalars, are_read_in_the_source_s_order) {
  const irisgen::Plan plan = planned();
  EXPECT_EQ(plan.scalars, (std::vector<Scalar>{{"alpha", ScalarType::f32},
                                               {"steps", ScalarType::i32},
                                               {"beta", ScalarType::f64},
                                               {"large", ScalarType::u64},
                                               {"shift", ScalarType::i64},
                                               {"mask", ScalarType::u32},
                                               {"negative", ScalarType::boolean}}));
  EXPECT_EQ(plan.arguments.size(), 2u);
  EXPECT_EQ(build_operation(plan).manifest.scalars, plan.scalars);
}

TEST_F(UserScalars, reach_the_kernel) {
  const RunReport report = launch(planned());
  EXPECT_TRUE(report.verified);
  EXPECT_TRUE(report.passed);
}

TEST_F(UserScalars, of_another_value_are_found_wrong) {
  const std::vector<std::pair<std::string, ScalarValue>> others = {
      {"alpha", 0.75}, {"steps", -4}, {"beta", 0.5}, {"shift", 8}, {"negative", false}, {"mask", 3}, {"large", 0}};
  const irisgen::Plan plan = planned();
  for (const auto& [name, value] : others) {
    Scalars given = plan.values;
    given.insert_or_assign(name, value);
    EXPECT_EQ(run(plan, {.scalars = given}).wrong, 3 * 12) << name;
  }
}

TEST_F(UserScalars, reach_the_reference) {
  write("r.cpp",
        "void r(bool negative, const double* const* input, double* const* output, long long n, float alpha,\n"
        "       double steps, double beta, unsigned long long large, long long shift, unsigned mask) {\n"
        "  for (int r = 0; r < 3; ++r)\n"
        "    for (long long i = 0; i < n; ++i) {\n"
        "      double value = alpha * input[r][i] + beta * steps + shift + (mask & 4) + (large >> 40);\n"
        "      output[r][i] = negative ? -value : value;\n    }\n}\n");
  const irisgen::Plan plan = planned();
  for (const double alpha : {0.5, -2.25}) {
    Scalars given = plan.values;
    given.insert_or_assign("alpha", alpha);
    EXPECT_TRUE(run(plan, {.scalars = given}).passed) << alpha;
  }
  std::string wrong = scale;
  wrong.replace(wrong.find("alpha * input"), 5, "(alpha + 1)");
  write("k.hip", wrong);
  EXPECT_EQ(launch(planned()).wrong, 3 * 12);
}

TEST_F(UserScalars, that_are_missing_keep_a_run_from_its_begin) {
  const irisgen::Plan plan = planned();
  try {
    run(plan);
    FAIL() << "it ran";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("k: 'alpha' is a number, f32, which every launch must give"),
              std::string::npos)
        << error.what();
  }
}

// What a description says of them is for irisgen's own launches: nothing is made anew for it.
TEST_F(UserScalars, change_nothing_that_is_made_by_their_values) {
  std::string other = values;
  other.replace(other.find("0.5"), 3, "9.5");
  EXPECT_EQ(planned().spec_hash, plan(description(other + with_reference)).spec_hash);
}

TEST_F(UserScalars, keep_their_values_where_a_description_is_checked) {
  const irisgen::Spec checked = irisgen::check(spec(description(values)).kernels.at(0));
  const irisgen::UserKernel& user = checked.kernels.at(0).user.value();
  ASSERT_EQ(user.arguments.size(), 7u);
  const auto alpha = std::ranges::find(user.arguments, "alpha", &irisgen::UserArgument::name);
  EXPECT_EQ(alpha->value, ScalarValue(0.5));
}

TEST_F(UserScalars, of_a_reference_have_the_kernel_s_type) {
  write("r.cpp", "void r(double* const* output, float steps) {}\n");
  try {
    reference_of(planned());
    FAIL() << "it was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("'steps' is i32 in the kernel; take that, or f64, not 'f32'"),
              std::string::npos)
        << error.what();
  }
}

// The launchers of one kernel.
TEST_F(UserScalars, become_parameters_of_launchers_that_are_reviewed) {
  const irisgen::Target* targets[] = {irisgen::find_target("sm_90a")};
  irisgen::Spec read = spec(description(values));
  read.kernels.at(0).name = "scale_shift";
  for (const std::string name : {"scale_shift.hpp", "scale_shift.w3.sm_90a.bare.hpp"}) {
    const auto files = irisgen::generate(read, targets, {.bare = name.find(".bare.") != std::string::npos});
    const auto file = std::ranges::find(files, name, &irisgen::OutputFile::name);
    ASSERT_NE(file, files.end()) << name;
    expect_reviewed(reviewed_folder / name, file->content);
  }
}

}  // namespace
}  // namespace iris::test::user_kernel_scalars_test
