#include "generator/plan/fast_loops.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>

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

const FastLoop* preferred_loop(const Target& target, Dtype dtype) {
  const auto* found = std::ranges::find_if(fast_loops, [&](const FastLoop* loop) {
    const bool takes = loop->alone_for.empty() || std::ranges::find(loop->alone_for, dtype) != loop->alone_for.end();
    return loop->platform == target.platform && takes;
  });
  return found == fast_loops.end() ? nullptr : *found;
}

}  // namespace

FastLoopChoice fast_loop_for(const Request& request, const Products& products) {
  const FastLoop* const preferred = preferred_loop(request.target, request.problem.dtype);
  if (!preferred) return {};
  std::string obstacle = preferred->obstacle(request, products);
  if (obstacle.empty()) return {preferred, preferred, ""};
  const FastLoop* const otherwise = preferred->otherwise;
  if (!otherwise) return {nullptr, preferred, std::move(obstacle)};
  const std::string second = otherwise->obstacle(request, products);
  if (second.empty()) return {otherwise, preferred, std::move(obstacle)};
  if (second != obstacle) obstacle.append("; nor ").append(otherwise->called).append(": ").append(second);
  return {nullptr, preferred, std::move(obstacle)};
}

const FastLoop& fast_loop_of(const KernelPlan& kernel) {
  const MainLoop main_loop = kernel.main_loop().value();
  for (const FastLoop* loop : fast_loops) {
    if (loop->main_loop == main_loop) return *loop;
    if (loop->otherwise && loop->otherwise->main_loop == main_loop) return *loop->otherwise;
  }
  throw std::logic_error("the kernel has no fast loop");
}

std::string reason_of(const FastLoopChoice& choice, const Request& request, const Products& products) {
  std::string reason;
  if (!choice.loop) {
    if (choice.preferred) reason = "no " + std::string(choice.preferred->called) + ": " + choice.obstacle;
    return reason;
  }
  reason = choice.loop->reason;
  const bool fnuz = request.problem.dtype == Dtype::e4m3 && request.target.matrix_e4m3 == MatrixE4m3::fnuz;
  if (fnuz) {
    reason += "; whose 8-bit floats have another bias: zeros and NaNs are changed on the way, sums are quadrupled";
  }
  if (!choice.obstacle.empty()) reason += ": " + choice.obstacle;
  const std::string rows = obstacle_of_rows(request.problem, products);
  if (rows.empty() || choice.loop->of_rows.empty()) return reason;
  if (rows != choice.obstacle) reason += "; " + rows;
  return reason + "; " + std::string(choice.loop->of_rows);
}

}  // namespace irisgen
