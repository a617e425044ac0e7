#pragma once

namespace iris::clang_library::importing {

/// What HIP's and CUDA's headers declare for kernels, as far as reading a kernel needs it: neither has to be installed,
/// and one text stands for both. Nothing in it has a body.
extern const char* const gpu_names;

/// The namespace whose functions stand for a group of threads.
inline constexpr const char* cooperative_groups = "cooperative_groups";

}  // namespace iris::clang_library::importing
