#pragma once

/// Fixed-size integers and floats of the device vocabulary. Freestanding: this header is compiled by hiprtc, NVRTC,
/// Clang for amdgcn, and by any C++20 compiler for the CPU.
namespace iris::device {

using i8 = signed char;
using u8 = unsigned char;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

static_assert(sizeof(i32) == 4 && sizeof(i64) == 8 && sizeof(f32) == 4 && sizeof(f64) == 8);

}  // namespace iris::device
