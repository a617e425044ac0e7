#pragma once

#include <string>
#include <string_view>

#include "irisgen/plan.hpp"

namespace irisgen {

/// The operation in a line, for banners and messages:
/// `all_reduce (two_shot) of f32, sum in f32, 8 ranks, n = 85002, for gfx942`.
std::string describe(const Plan& plan);
/// One of its kernels, likewise; of a user's kernel `exchange_rows of halo.hip, f32, 4 ranks, m = 64, for gfx942`.
std::string describe(const Plan& plan, const KernelPlan& kernel);
/// What is computed, without the algorithm where none is given: `all_reduce of f32, sum in f32, 8 ranks, n = 85002`.
std::string describe(const Problem& problem, std::string_view variant = {});

/// `all_reduce`, or `user kernel`.
std::string pattern_words(std::string_view pattern);

/// The `Config` of an emitted kernel.
std::string config_struct(const KernelPlan& kernel);

/// `read`, `written`.
std::string_view describe(iris::Access access);
/// `the output may be the input`.
std::string_view describe(iris::InPlace in_place);

/// `gradient_sum_two_shot_f32_sum_w8_n85002`: whoever sees it in a profile knows what it is.
std::string symbol_of(const std::string& name, const KernelPlan& kernel);

/// Bytes as people read them: `1.3 MB`.
std::string bytes_text(std::int64_t bytes);

}  // namespace irisgen
