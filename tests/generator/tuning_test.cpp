#include "irisgen/tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "irisgen/explain.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/plan.hpp"
#include "tests/generator/samples.hpp"

namespace irisgen::tuning_test {
namespace {

constexpr const char* small_sum = "{name: a, pattern: all_reduce, dtype: f32, world: 8, shape: {n: 4096}}";

Problem sum_of(std::int64_t n) {
  return {.pattern = "all_reduce", .op = Op::sum, .world = 8, .extents = {{"m", {.value = 1}}, {"n", {.value = n}}}};
}

TuningEntry entry_for(const std::string& variant, Settings config = {}) {
  return {.problem = sum_of(4096),
          .target = "sm_90a",
          .device = "NVIDIA H200",
          .driver = "CUDA 13.0",
          .variant = variant,
          .config = std::move(config),
          .time_us = 5.5,
          .untuned_us = 6,
          .measured = 7,
          .complete = false,
          .kernels = "0123456789ab"};
}

Plan plan_with(const std::vector<TuningTable>& tables, const std::string& kernel = small_sum,
               const std::string& device = "") {
  const Spec spec = spec_of({kernel});
  return make_plan(spec.kernels.at(0), spec.kernels.at(0).worlds.at(0), *find_target("sm_90a"),
                   {.tuning = tables, .device = device});
}

Plan plan_with(const TuningEntry& entry, const std::string& kernel = small_sum) {
  return plan_with(std::vector<TuningTable>{{{entry}}}, kernel);
}

TuningEntry changed(const std::function<void(TuningEntry&)>& change) {
  TuningEntry entry = entry_for("two_shot");
  change(entry);
  return entry;
}

// --- what a table decides

TEST(Tuning, ComesBeforeTheModel) {
  EXPECT_EQ(plan_of(small_sum, "sm_90a").variant, "low_latency");
  const Plan plan = plan_with(entry_for("two_shot", {{"threads", {.value = 256}}}));
  EXPECT_EQ(plan.variant, "two_shot");
  EXPECT_EQ(number(plan, "threads"), 256);
  EXPECT_EQ(plan.choices.at(0).reason, "tuned: measured 5.5 µs at m = 1, n = 4096 on NVIDIA H200, CUDA 13.0");
}

TEST(Tuning, IsNotAskedWhereTheDescriptionSetsSomethingItself) {
  const TuningEntry entry = entry_for("two_shot", {{"threads", {.value = 256}}});
  const auto variant = [&](const std::string& more) {
    return plan_with(entry, "{name: a, pattern: all_reduce, dtype: f32, world: 8, shape: {n: 4096}, " + more + "}")
        .variant;
  };
  EXPECT_EQ(variant("config: {timeout_ms: 7}"), "two_shot");
  EXPECT_EQ(variant("tune: {threads: [64, 128]}"), "two_shot") << "what was tuned by that very line";
  EXPECT_EQ(variant("config: {threads: 128}"), "low_latency") << "two_shot of 128 threads was not measured";
  EXPECT_EQ(variant("variant: one_shot"), "one_shot");
}

TEST(Tuning, SaysOfEachNumberThatItWasMeasured) {
  const Plan plan = plan_with(entry_for("two_shot", {{"threads", {.value = 256}}}));
  const auto& constants = plan.kernels.at(0).constants;
  EXPECT_EQ(std::ranges::find(constants, "threads", &Constant::name)->reason, "measured to be best");
}

TEST(Tuning, IsAskedOfProductsWhoseSizesAreNotKnown) {
  const auto product = [](const std::string& m, const std::string& n) {
    return "{name: a, pattern: matmul, dtype: bf16, layout: {b: nk}, world: 1, shape: {m: " + m + ", n: " + n +
           ", k: 8192}}";
  };
  TuningEntry entry = entry_for("tiled", {{"tile_n", {.value = 128}}});
  entry.problem = plan_of(product("4096", "4096"), "sm_90a").problem;
  const auto reason = [&](const std::string& m, const std::string& n) {
    return plan_with(entry, product(m, n)).choices.at(0).reason;
  };
  EXPECT_TRUE(reason("4096", "4096").starts_with("tuned: ")) << reason("4096", "4096");
  EXPECT_TRUE(reason("dynamic", "dynamic")
                  .ends_with(", as measured where it was and else predicted, with the other lengths 4096"));
  EXPECT_TRUE(reason("dynamic", "4096").ends_with(", as measured where it was and else predicted"));
  const Plan plan = plan_with(entry, product("dynamic", "4096"));
  const auto takes_4096 = [](const iris::Bound& bound) { return iris::takes(bound, 4096); };
  const auto schedule = std::ranges::find_if(
      plan.schedules, [&](const iris::Schedule& each) { return std::ranges::all_of(each.bounds, takes_4096); });
  const auto& kernel =
      plan.kernels.at(static_cast<std::size_t>(std::get<iris::LaunchStep>(schedule->steps.at(0).action).kernel));
  EXPECT_EQ(kernel.number("tile_n"), 128);
}

TEST(Tuning, IsOfItsOwnKindOfProblemAndTargetOnly) {
  const auto variant = [](const std::function<void(TuningEntry&)>& change) {
    return plan_with(changed(change)).variant;
  };
  EXPECT_EQ(variant([](TuningEntry&) {}), "two_shot");
  EXPECT_EQ(variant([](TuningEntry& entry) { entry.problem.op = Op::max; }), "two_shot") << "takes as long";
  EXPECT_EQ(variant([](TuningEntry& entry) { entry.problem.dtype = Dtype::f64; }), "low_latency");
  EXPECT_EQ(variant([](TuningEntry& entry) { entry.problem.accumulate = Dtype::f64; }), "low_latency");
  EXPECT_EQ(variant([](TuningEntry& entry) { entry.problem.world = 4; }), "low_latency");
  EXPECT_EQ(variant([](TuningEntry& entry) { entry.problem.pattern = "broadcast"; }), "low_latency");
  EXPECT_EQ(variant([](TuningEntry& entry) { entry.target = "gfx942"; }), "low_latency");
}

TEST(Tuning, ReachesFromHalfTheSizeToTwice) {
  const auto variant = [](std::int64_t n) {
    return plan_with(changed([&](TuningEntry& entry) { entry.problem = sum_of(n); })).variant;
  };
  EXPECT_EQ(variant(8192), "two_shot");
  EXPECT_EQ(variant(2048), "two_shot");
  EXPECT_EQ(variant(8193), "low_latency");
  EXPECT_EQ(variant(2047), "low_latency");
  EXPECT_EQ(variant(0), "low_latency");
}

TEST(Tuning, TakesTheNearestSize) {
  TuningTable table;
  for (const auto& [n, variant] : {std::pair(2100, "ring"), {5000, "one_shot"}, {8000, "two_shot"}}) {
    table.entries.push_back(entry_for(variant));
    table.entries.back().problem = sum_of(n);
  }
  EXPECT_EQ(plan_with({table}).variant, "one_shot");
}

/// Of so much lines hold three elements; the model would take another variant.
TEST(Tuning, PlansAnOpenSizeAsItWasMeasured) {
  TuningEntry entry = entry_for("low_latency");
  entry.problem = sum_of(65536);
  const Plan open = plan_with(entry, "{name: a, pattern: all_reduce, dtype: f32, world: 8, shape: {n: dynamic}}");
  const auto is_wide = [](const KernelPlan& kernel) {
    return kernel.variant == "low_latency" && kernel.number("line") == 3;
  };
  EXPECT_EQ(std::ranges::count_if(open.kernels, is_wide), 1);
}

TEST(Tuning, OfAProductIsForItsOwnColumnsAndDepth) {
  TuningEntry entry = entry_for("bulk_synchronous");
  entry.problem = plan_of(
                      "{name: a, pattern: all_gather_matmul, dtype: bf16, world: 4, "
                      "shape: {m: 4096, n: 2048, k: 8192}}",
                      "sm_90a")
                      .problem;
  const auto reason = [&](const std::string& shape) {
    return plan_with(entry, "{name: a, pattern: all_gather_matmul, dtype: bf16, world: 4, shape: {" + shape + "}}")
        .choices.at(0)
        .reason;
  };
  EXPECT_TRUE(reason("m: 4096, n: 2048, k: 8192").starts_with("tuned: "));
  EXPECT_TRUE(reason("m: 2048, n: 2048, k: 8192").starts_with("tuned: ")) << "half as many rows";
  EXPECT_TRUE(reason("m: dynamic, n: 2048, k: 8192").ends_with("as measured where it was and else predicted"));
  EXPECT_TRUE(reason("m: dynamic, n: 4096, k: 4096").ends_with("as predicted"));
  EXPECT_FALSE(reason("m: 1024, n: 2048, k: 8192").starts_with("tuned"));
  EXPECT_FALSE(reason("m: 4096, n: 4096, k: 4096").starts_with("tuned")) << "as many multiply-adds, other matrices";
}

TEST(Tuning, IsOfItsOwnDeviceWhereThatIsKnown) {
  const std::vector<TuningTable> tables = {{{entry_for("two_shot")}}};
  EXPECT_EQ(plan_with(tables, small_sum, "").variant, "two_shot");
  EXPECT_EQ(plan_with(tables, small_sum, "NVIDIA H200").variant, "two_shot");
  EXPECT_EQ(plan_with(tables, small_sum, "NVIDIA H100").variant, "low_latency");
}

TEST(Tuning, OfTheFirstTableThatKnowsCounts) {
  const TuningTable far = {{changed([](TuningEntry& entry) { entry.problem = sum_of(8000); })}};
  const TuningTable exact = {{entry_for("ring")}};
  const TuningTable other = {{changed([](TuningEntry& entry) { entry.problem = sum_of(1 << 20); })}};
  EXPECT_EQ(plan_with({far, exact}).variant, "two_shot");
  EXPECT_EQ(plan_with({other, exact}).variant, "ring");
}

TEST(Tuning, GivesWayToTheModelWhereItCannotBePlanned) {
  EXPECT_EQ(plan_with(entry_for("three_shot")).variant, "low_latency");
  EXPECT_EQ(plan_with(entry_for("atomic")).variant, "low_latency") << "nobody has named it";
  EXPECT_EQ(plan_with(entry_for("two_shot", {{"threads", {.value = 100}}})).variant, "low_latency");
}

TEST(Tuning, GivesWayToTheModelWhereADescriptionCouldNotSaySo) {
  for (const auto& [key, value] : {std::pair("vector", 3), {"threads", -256}, {"timeout_ms", -1}, {"timeout_ms", 0}}) {
    EXPECT_EQ(plan_with(entry_for("two_shot", {{key, {.value = value}}})).variant, "low_latency")
        << key << ": " << value;
  }
}

TEST(Tuning, ServesItsSizesWhereTheyAreKnownOnlyAtLaunch) {
  TuningTable table;
  for (const auto& [n, threads] : {std::pair(4096, 128), {1 << 20, 256}}) {
    table.entries.push_back(entry_for("ring", {{"threads", {.value = threads}}}));
    table.entries.back().problem = sum_of(n);
  }
  const Plan plan = plan_with({table}, "{name: a, pattern: all_reduce, dtype: f32, world: 8, shape: {n: dynamic}}");
  EXPECT_EQ(plan.variant, "by_size");
  const auto threads_at = [&](std::int64_t size) {
    const auto schedule =
        std::ranges::find_if(plan.schedules, [&](const iris::Schedule& each) { return size <= each.up_to; });
    const auto& kernel =
        plan.kernels.at(static_cast<std::size_t>(std::get<iris::LaunchStep>(schedule->steps.at(0).action).kernel));
    return std::pair(kernel.variant, kernel.number("threads"));
  };
  EXPECT_EQ(threads_at(4096), (std::pair<std::string, std::int64_t>("ring", 128)));
  EXPECT_EQ(threads_at(1 << 20), (std::pair<std::string, std::int64_t>("ring", 256)));
  EXPECT_NE(threads_at(100).first, "ring") << "no table knows such a size";
  EXPECT_NE(threads_at(1 << 28).first, "ring");
  std::set<std::string> symbols;
  for (const KernelPlan& kernel : plan.kernels) EXPECT_TRUE(symbols.insert(kernel.symbol).second) << kernel.symbol;
}

TEST(Tuning, SharesAKernelWithTheModelWhereBothTakeTheSame) {
  const std::string kernel = "{name: a, pattern: all_reduce, dtype: f32, world: 8, shape: {n: dynamic}}";
  const std::size_t untuned = plan_of(kernel, "sm_90a").kernels.size();
  EXPECT_EQ(plan_with(entry_for("low_latency"), kernel).kernels.size(), untuned);
  EXPECT_EQ(plan_with(entry_for("low_latency", {{"threads", {.value = 128}}}), kernel).kernels.size(), untuned + 1);
}

TEST(Tuning, IsAboutKernelsThatLeaveAllToThePlan) {
  KernelSpec kernel;
  EXPECT_TRUE(is_left_to_plan(kernel));
  kernel.config["timeout_ms"] = {.value = 5};
  EXPECT_TRUE(is_left_to_plan(kernel));
  kernel.config["blocks"] = {.value = 5};
  EXPECT_FALSE(is_left_to_plan(kernel));
  kernel.config = {};
  kernel.variant = "ring";
  EXPECT_FALSE(is_left_to_plan(kernel));
}

TEST(Tuning, ShowsVariantsAsTheyWereMeasured) {
  TuningEntry entry = entry_for("two_shot");
  entry.times_us = {{"two_shot", 5.6}, {"one_shot", 7.25}, {"low_latency", 6}};
  const Plan plan = plan_with(entry);
  EXPECT_EQ(plan.measured_at, "m = 1, n = 4096 on NVIDIA H200, CUDA 13.0");
  const std::map<std::string, double> expected = {{"one_shot", 7.25}, {"low_latency", 6}, {"two_shot", 5.5}};
  for (const Alternative& each : plan.alternatives) {
    const auto measured = expected.find(each.variant);
    EXPECT_EQ(each.measured_us, measured == expected.end() ? 0 : measured->second) << each.variant;
  }
  const std::string text = explain(plan);
  EXPECT_NE(text.find("measured at m = 1, n = 4096 on NVIDIA H200, CUDA 13.0"), std::string::npos) << text;
  EXPECT_NE(text.find("7.25 µs"), std::string::npos) << text;
}

TEST(Tuning, ShowsNoMeasurementsBesideAConfigOfTheUser) {
  const char* kernel = "{name: a, pattern: all_reduce, dtype: f32, world: 8, shape: {n: 4096}, variant: two_shot";
  EXPECT_NE(plan_with(entry_for("two_shot"), std::string(kernel) + "}").measured_at, "");
  EXPECT_EQ(plan_with(entry_for("two_shot"), std::string(kernel) + ", config: {blocks: 3}}").measured_at, "");
  EXPECT_EQ(plan_of(small_sum, "sm_90a").measured_at, "");
}

// --- the file

TEST(TuningFile, IsReadAsItWasWritten) {
  TuningTable table;
  TuningEntry sum = entry_for("two_shot", {{"blocks", {.value = 32}}, {"threads", {.value = 256}}});
  sum.times_us = {{"two_shot", 5.5}, {"ring", 9}};
  table.set(sum);
  TuningEntry product = entry_for("workgroup_specialized");
  product.problem = {.pattern = "matmul_all_gather",
                     .dtype = Dtype::e4m3,
                     .accumulate = Dtype::f64,
                     .result = iris::result_of(Dtype::e4m3),
                     .shard = "n",
                     .layout_b = iris::Layout::nk,
                     .world = 2,
                     .extents = {{"m", {.value = 3}}, {"n", {.value = 4}}, {"k", {.value = 5}}}};
  table.set(product);
  const TuningTable read = parse_tuning("t.json", to_json(table));
  ASSERT_EQ(read.entries.size(), 2u);
  EXPECT_EQ(to_json(read), to_json(table));
  EXPECT_EQ(read.entries[1].problem, product.problem);
  EXPECT_EQ(read.entries[0].config.at("blocks").value, 32);
  EXPECT_EQ(read.entries[0].config.at("threads").value, 256);
  EXPECT_EQ(read.entries[0].times_us, sum.times_us);
  EXPECT_EQ(read.entries[0].variant, "two_shot");
  EXPECT_EQ(read.entries[0].device, "NVIDIA H200");
  EXPECT_EQ(read.entries[0].driver, "CUDA 13.0");
  EXPECT_EQ(read.entries[0].time_us, 5.5);
  EXPECT_EQ(read.entries[0].untuned_us, 6);
  EXPECT_EQ(read.entries[0].measured, 7);
  EXPECT_FALSE(read.entries[0].complete);
  EXPECT_EQ(read.entries[0].kernels, "0123456789ab");
}

TEST(TuningFile, HasAnEntryOnEachLine) {
  TuningTable table;
  EXPECT_EQ(to_json(table), "{\"irisgen_tuning\": 1, \"entries\": [\n]}\n");
  table.set(entry_for("two_shot"));
  EXPECT_EQ(to_json(table),
            "{\"irisgen_tuning\": 1, \"entries\": [\n"
            "{\"pattern\":\"all_reduce\",\"dtype\":\"f32\",\"world\":8,\"shape\":{\"m\":1,\"n\":4096},"
            "\"target\":\"sm_90a\",\"device\":\"NVIDIA H200\",\"driver\":\"CUDA 13.0\",\"variant\":\"two_shot\","
            "\"config\":{},\"time_us\":5.5,\"untuned_us\":6.0,\"measured\":7,\"complete\":false,"
            "\"kernels\":\"0123456789ab\"}\n]}\n");
}

TEST(TuningFile, KeepsNanoseconds) {
  TuningTable table;
  table.set(changed([](TuningEntry& entry) { entry.time_us = 2.377600036561489; }));
  EXPECT_NE(to_json(table).find("\"time_us\":2.378,"), std::string::npos) << to_json(table);
}

TEST(TuningFile, ANewEntryTakesThePlaceOfTheOldOne) {
  TuningTable table;
  table.set(entry_for("two_shot"));
  table.set(changed([](TuningEntry& entry) { entry.problem.world = 4; }));
  table.set(changed([](TuningEntry& entry) { entry.device = "NVIDIA H100"; }));
  table.set(changed([](TuningEntry& entry) { entry.driver = "CUDA 14.0", entry.variant = "ring"; }));
  ASSERT_EQ(table.entries.size(), 3u);
  EXPECT_EQ(table.entries[0].variant, "ring");
  EXPECT_EQ(table.entries[0].driver, "CUDA 14.0");
}

std::string refusal_of(const std::string& text) {
  try {
    parse_tuning("t.json", text);
    return "";
  } catch (const SpecError& error) {
    return error.what();
  }
}

TEST(TuningFile, WrongOnesAreErrorsWithTheirPlaces) {
  const std::string good = to_json(TuningTable{{entry_for("two_shot")}});
  EXPECT_EQ(refusal_of(good), "");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return refusal_of(text);
  };
  EXPECT_NE(with("all_reduce", "all_redvce")
                .find("t.json:2:12: error: unknown pattern 'all_redvce'; did you mean "
                      "'all_reduce'?"),
            std::string::npos);
  EXPECT_NE(with("\"m\":1,", "").find("the shape of all_reduce lacks 'm'"), std::string::npos);
  EXPECT_NE(with("\"world\":8", "\"world\":99").find("world must be an integer from 1 to 16"), std::string::npos);
  EXPECT_NE(with("\"time_us\":5.5", "\"time_us\":\"fast\"").find("time_us must be a number"), std::string::npos);
  EXPECT_NE(with("\"f32\"", "\"f31\"").find("did you mean 'f32'"), std::string::npos);
  EXPECT_NE(with("irisgen_tuning\": 1", "irisgen_tuning\": 2").find("irisgen_tuning must be 1"), std::string::npos);
  EXPECT_NE(with("\"config\":{}", "\"config\":{\"colour\":1}").find("unknown key 'colour'"), std::string::npos);
  EXPECT_NE(with("\"driver\"", "\"diver\"").find("'diver'"), std::string::npos);
  EXPECT_NE(with("\"n\":4096", "\"n\":4096,\"k\":3").find("the shape of all_reduce has no 'k'"), std::string::npos);
  EXPECT_NE(with("\"world\"", "\"shard\":\"m\",\"world\"").find("unknown shard of all_reduce 'm'"), std::string::npos);
  EXPECT_NE(with("\"world\"", "\"layout\":{\"b\":\"nk\"},\"world\"").find("all_reduce has no layout"),
            std::string::npos);
  EXPECT_NE(with("\"world\"", "\"accumulate\":\"i32\",\"world\"").find("f32 does not accumulate in i32"),
            std::string::npos);
  EXPECT_NE(with("sm_90a", "sm_99a").find("unknown target 'sm_99a'; did you mean 'sm_90a'?"), std::string::npos);
  EXPECT_NE(with("two_shot", "two_shoot").find("did you mean 'two_shot'?"), std::string::npos);
  const std::string entry = good.substr(good.find("\n{") + 1, good.find("}\n]") - good.find("\n{"));
  EXPECT_NE(with(entry, entry + ",\n" + entry).find("t.json:3:1: error: another entry is of this problem"),
            std::string::npos);
  EXPECT_NE(refusal_of("[]"), "");
  EXPECT_NE(refusal_of(" \n").find("t.json:1:1: error: the tuning table is empty"), std::string::npos);
  EXPECT_NE(refusal_of(good.substr(0, good.size() / 2)), "");
}

TEST(TuningFile, KnowsEveryKeyOfAConfigThatDecidesAboutSpeed) {
  for (const std::string& key : config_keys()) {
    const bool taken = refusal_of(to_json(TuningTable{{entry_for("two_shot", {{key, {.value = 1}}})}})).empty();
    EXPECT_EQ(taken, key != "timeout_ms") << key;
  }
}

TEST(TuningFile, ShippedOnesAreRightAndCanBePlanned) {
  for (const TuningEntry& entry : shipped_tuning().entries) {
    const Target* target = find_target(entry.target);
    ASSERT_NE(target, nullptr) << entry.target;
    KernelSpec kernel;
    kernel.name = "shipped";
    kernel.problem = entry.problem;
    const Spec spec = check(kernel);
    const Plan plan = make_plan(spec.kernels.front(), entry.problem.world, *target,
                                {.tuning = {&shipped_tuning(), 1}, .device = entry.device});
    EXPECT_EQ(plan.variant, entry.variant);
    EXPECT_TRUE(plan.choices.at(0).reason.starts_with("tuned: ")) << plan.choices.at(0).reason;
    EXPECT_LE(entry.time_us, entry.untuned_us);
    EXPECT_TRUE(entry.complete);
  }
}

}  // namespace
}  // namespace irisgen::tuning_test
