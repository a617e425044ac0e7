#include "iris/operation.hpp"
#include "irisgen/explain.hpp"
#include "irisgen/generate.hpp"
#include "irisgen/tuning_space.hpp"
#include "tests/runtime/product_prologue_samples.hpp"
#include "tests/runtime/reviewed_file.hpp"

/// What plans of products with a prologue say, and what is left as it is without one.
namespace iris::test::product_prologue_plan_test {
namespace {

class ProductProloguePlan : public WithPrologue {};

std::string without_prologue(std::string text) {
  const std::size_t line = text.find("    prologue:");
  return text.erase(line, text.find('\n', line) + 1 - line);
}

TEST_F(ProductProloguePlan, is_counted_and_explained) {
  Product product{.pattern = "all_gather_matmul", .world = 4, .m = 16384, .n = 1280, .k = 8192};
  const irisgen::Plan with = plan(product.text(), "sm_90a");
  const irisgen::Plan without = plan(without_prologue(product.text()), "sm_90a");
  // 4096 rows of 8192 bf16, read and written, at 4300 GB/s, and a launch of 2 µs.
  constexpr double step_us = 2.0 * 4096 * 8192 * 2 / 4300e3 + 2;
  EXPECT_NEAR(with.prediction.time_us - without.prediction.time_us, step_us, 1e-6);
  EXPECT_EQ(with.prediction.link_bytes, without.prediction.link_bytes);
  EXPECT_EQ(with.variant, without.variant);
  const std::string text = irisgen::explain(with);
  EXPECT_NE(text.find("a step of its own before the product, which reads all of A and writes as much: 134.2 MB in "
                      "all, predicted to take 33.2 µs\n"),
            std::string::npos)
      << text;
  EXPECT_NE(irisgen::explain(plan(product.text(), "host")).find("writes as much: 134.2 MB in all\n"),
            std::string::npos);
  product.dynamic = true;
  EXPECT_NE(irisgen::explain(plan(product.text(), "sm_90a")).find("writes as much\n"), std::string::npos);
}

// One step for all, and the kernels are called as they are without it.
TEST_F(ProductProloguePlan, is_shared_by_what_serves_the_sizes_of_a_product) {
  const Product product{
      .pattern = "matmul", .variant = "auto", .layout = "nk", .m = 0, .n = 4096, .k = 0, .dynamic = true};
  const irisgen::Plan any = plan(product.text(), "sm_90a");
  std::vector<std::string> prologues;
  for (const irisgen::KernelPlan& kernel : any.kernels) {
    if (kernel.part.ends_with("_prologue")) prologues.push_back(kernel.part);
    EXPECT_EQ(kernel.part.find("tiled_tiled"), std::string::npos) << kernel.part;
  }
  EXPECT_EQ(prologues.size(), 1U);
  EXPECT_GE(any.schedules.size(), 4U);
  for (const Schedule& schedule : any.schedules) {
    std::vector<std::string> launched;
    for (const Step& step : schedule.steps)
      launched.push_back(any.kernels.at(static_cast<std::size_t>(std::get<LaunchStep>(step.action).kernel)).part);
    EXPECT_GE(launched.size(), 2U);
    EXPECT_EQ(launched.front(), prologues.at(0));
    EXPECT_EQ(std::ranges::count(launched, prologues.at(0)), 1);
  }
}

// Keys of `config:` are those of the product.
TEST_F(ProductProloguePlan, changes_nothing_of_what_is_tuned) {
  for (const char* pattern : {"matmul", "all_gather_matmul", "matmul_reduce_scatter"}) {
    const Product product{.pattern = pattern, .world = 2, .m = 4096, .n = 1280, .k = 8192};
    const auto candidates = [&](const std::string& text) {
      const irisgen::Spec read = spec(text);
      std::vector<std::string> all;
      for (const irisgen::TuningCandidate& each :
           irisgen::tuning_candidates(read.kernels.at(0), 2, *irisgen::find_target("sm_90a"))) {
        all.push_back(each.variant);
        for (const auto& [key, setting] : each.config) all.back() += " " + key + "=" + std::to_string(setting.value);
        EXPECT_EQ(each.plan.function_plans.size(), text.find("prologue") == std::string::npos ? 0U : 1U);
      }
      return all;
    };
    const std::vector<std::string> all = candidates(product.text());
    EXPECT_GT(all.size(), 5U);
    EXPECT_EQ(all, candidates(without_prologue(product.text())));
  }
  Product asked{.pattern = "matmul", .variant = "tiled", .more = "    config: {blocks: 2, tile_m: 32}\n"};
  const irisgen::Plan planned = plan(asked.text());
  EXPECT_NE(planned.kernels.at(0).number("blocks"), 2);
  EXPECT_EQ(planned.kernels.at(1).number("blocks"), 2);
}

TEST_F(ProductProloguePlan, compiles_for_gpus) {
  for (const std::string dtype : {"bf16", "e4m3", "tf32", "f64", "i32"}) {
    const Product product{.pattern = "matmul", .dtype = dtype, .layout = "nk", .m = 256, .n = 256, .k = 512};
    for (const char* target : {"gfx90a", "gfx942", "gfx950"}) {
      SCOPED_TRACE(dtype + " for " + target);
      EXPECT_EQ(build_operation(plan(product.text(), target), "clang").code.at(0).resources.spill_bytes, 0);
    }
    if (samples::find_compiler("nvrtc") == nullptr) continue;
    SCOPED_TRACE(dtype + " for sm_90a");
    EXPECT_EQ(build_operation(plan(product.text(), "sm_90a"), "nvrtc").code.at(0).resources.spill_bytes, 0);
  }
}

TEST_F(ProductProloguePlan, becomes_files_that_are_reviewed) {
  const Product product{.pattern = "matmul", .variant = "tiled", .world = 2, .m = 512, .n = 1024, .k = 4096};
  const irisgen::Target* targets[] = {irisgen::find_target("sm_90a")};
  for (const irisgen::OutputFile& file : irisgen::generate(spec(product.text()), targets)) {
    expect_reviewed(reviewed_folder / file.name, file.content);
  }
}

}  // namespace
}  // namespace iris::test::product_prologue_plan_test
