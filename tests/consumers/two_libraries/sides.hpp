#pragma once

#include <iris/world.hpp>

// What each library does with its kernels: `total` is the sum of 1001 elements in the left one, and their maximum in
// the right one; `common` sums 10 in both.
void left_total(iris::Context& context, const float* input, float* output);
void left_common(iris::Context& context, const float* input, float* output);
void right_total(iris::Context& context, const float* input, float* output);
void right_common(iris::Context& context, const float* input, float* output);
