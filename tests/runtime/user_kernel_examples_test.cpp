#include <array>

#include "irisgen/generate.hpp"
#include "tests/runtime/reviewed_file.hpp"
#include "tests/runtime/user_kernel_samples.hpp"

/// The examples whose sources are read by Clang.
namespace iris::test::user_kernel_examples_test {
namespace {

constexpr std::array examples = {"03_load_store", "04_message_passing", "05_histogram", "06_halo",
                                 "07_gelu",       "08_log_sum_exp"};

/// One of examples/, for so many ranks.
irisgen::Spec example(const std::string& name, int world) {
  irisgen::Spec read = irisgen::read_spec(IRISGEN_SOURCE_DIR "/examples/" + name + "/spec.yaml", {.world = world});
  attach_source_reader(read);
  return read;
}

irisgen::Plan example_plan(const std::string& name, int world, std::string_view target) {
  return irisgen::make_plan(example(name, world).kernels.at(0), world, *irisgen::find_target(target));
}

TEST_F(UserKernel, of_the_examples_is_right_in_every_order) {
  for (const char* name : examples) {
    for (const int world : {1, 2, 4}) {
      SCOPED_TRACE(std::string(name) + " on " + std::to_string(world) + " ranks");
      const RunReport report =
          run(example_plan(name, world, "host"), {.seed = static_cast<std::uint64_t>(world), .repeat = 5});
      EXPECT_TRUE(report.verified);
      EXPECT_TRUE(report.passed);
    }
  }
}

// Few messages a launch: nothing but the mailbox itself keeps a producer from being launches ahead.
TEST_F(UserKernel, of_the_mailbox_keeps_its_slots_from_launch_to_launch) {
  irisgen::KernelSpec mailbox = example("04_message_passing", 4).kernels.at(0);
  mailbox.problem.extents = {{"n", {.value = 4096}}};
  const irisgen::Plan planned = irisgen::make_plan(mailbox, 4, *irisgen::find_target("host"));
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    EXPECT_TRUE(run(planned, {.seed = seed, .repeat = 16}).passed) << seed;
}

TEST_F(UserKernel, of_the_examples_compiles_for_every_target_of_clang) {
  for (const char* name : examples) {
    for (const char* target : {"gfx90a", "gfx942", "gfx950"}) {
      SCOPED_TRACE(std::string(name) + " for " + target);
      const BuiltOperation built = build_operation(example_plan(name, 4, target), "clang");
      EXPECT_EQ(built.code.at(0).resources.spill_bytes, 0);
    }
  }
}

// Of one example.
TEST_F(UserKernel, becomes_files_that_are_reviewed) {
  const irisgen::Target* targets[] = {irisgen::find_target("sm_90a")};
  for (const irisgen::OutputFile& file : irisgen::generate(example("05_histogram", 4), targets)) {
    expect_reviewed(reviewed_folder / file.name, file.content);
  }
}

}  // namespace
}  // namespace iris::test::user_kernel_examples_test
