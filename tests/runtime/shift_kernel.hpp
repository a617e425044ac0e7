#pragma once

/// A kernel of the user's own, and its reference, for folders of UserKernel.
namespace iris::test {

/// Twice the values of the rank before.
inline constexpr const char* shift = R"(#include <iris/device/barrier.hpp>
#include <iris/device/rma.hpp>

using namespace iris::device;

/// Doubles what comes
/// from the rank before.
/// \param input what the next rank doubles
template <typename Config>
__device__ void f(const Context& context, IRIS_SYMMETRIC const typename Config::Element* input,
                  typename Config::Element* output, i64 n) {
  Launch<Config> launch(context);
  if (!same_block_barrier(launch, Wait::entry)) return;
  const i32 from = peer_at<Config::world>(context, Config::world - 1);
  const ThreadGroup threads = grid_threads<Config>();
  for (i64 i = threads.index; i < n; i += threads.size) output[i] = 2 * load(context, input + i, from);
  same_block_barrier(launch, Wait::exit);
}
)";

inline constexpr const char* shift_reference = R"(#include <iris/device/types.hpp>
template <typename Config>
void expected(const double* const* input, double* const* output, iris::device::i64 n) {
  for (int rank = 0; rank < Config::world; ++rank)
    for (long long i = 0; i < n; ++i) output[rank][i] = 2 * input[(rank + Config::world - 1) % Config::world][i];
}
)";

inline constexpr const char* with_reference = "    reference: {source: k_reference.cpp, function: expected}\n";

}  // namespace iris::test
