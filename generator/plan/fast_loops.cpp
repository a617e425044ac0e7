#include "generator/plan/fast_loops.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "generator/plan/fast_loops/rows.hpp"

namespace irisgen {

double speed_of(const Target& target, Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
    case Dtype::bf16:
      return 1;
    case Dtype::e4m3:
      return target.matrix_speeds.e4m3;
    case Dtype::tf32:
      return target.matrix_speeds.tf32;
    case Dtype::f32:
      return target.matrix_speeds.f32;
    case Dtype::f64:
      return target.matrix_speeds.f64;
    case Dtype::i32:
      break;
  }
  return 0;
}

bool allows(const Request& request, const Tiles& tiles) {
  return request.wanted("tile_m").value_or(tiles.m) == tiles.m && request.wanted("tile_n").value_or(tiles.n) == tiles.n;
}

std::int64_t depth_of(const Problem& problem, std::int64_t of_16_bits) {
  return of_16_bits * 2 / iris::bytes_of(problem.dtype);
}

namespace {

constexpr std::array fast_loops = {&fma_staged_loop, &mma_loop, &wgmma_loop, &mfma_loop};

}  // namespace

const FastLoop* fast_loop_of(const Target& target, Dtype dtype) {
  const auto* found = std::ranges::find_if(fast_loops, [&](const FastLoop* loop) {
    const bool takes = loop->alone_for.empty() || std::ranges::find(loop->alone_for, dtype) != loop->alone_for.end();
    return loop->platform == target.platform && takes;
  });
  return found == fast_loops.end() ? nullptr : *found;
}

std::string reason_of(const FastLoop& loop, const Request& request, const Products& products) {
  // What is transposed is read one element at a time whatever its rows.
  const bool transposes = loop.main_loop == MainLoop::fma_staged;
  const std::string slowly = transposes ? "" : obstacle_of_rows(request.problem, products);
  const bool fnuz = request.problem.dtype == Dtype::e4m3 && request.target.matrix_e4m3 == MatrixE4m3::fnuz;
  return std::string(loop.reason) +
         (fnuz ? "; whose 8-bit floats have another bias: zeros and NaNs are changed on the way, sums are quadrupled"
               : "") +
         (slowly.empty() ? "" : "; " + slowly + "; such rows are read one element at a time");
}

}  // namespace irisgen
