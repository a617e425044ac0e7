#include "runtime/verify/bench_buffers.hpp"

#include <algorithm>
#include <cstddef>

#include "iris/values.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/verify/random.hpp"

namespace iris {
namespace {

/// The same run of elements over and over.
std::vector<std::byte> random_bytes(std::size_t bytes, Dtype dtype, Op op, RandomStream stream) {
  constexpr std::size_t run = 1 << 16;
  const std::size_t elements = bytes / static_cast<std::size_t>(bytes_of(dtype));
  const std::vector<double> values = random_values(stream, std::min(elements, run), dtype, op);
  const std::vector<std::byte> pattern = to_bytes(values, dtype);
  std::vector<std::byte> data(bytes);
  for (std::size_t at = 0; at < bytes; at += pattern.size())
    std::copy_n(pattern.begin(), std::min(pattern.size(), bytes - at), data.begin() + static_cast<std::ptrdiff_t>(at));
  return data;
}

}  // namespace

BenchBuffers::BenchBuffers(Context& context, const irisgen::Plan& plan, std::uint64_t seed) : context_(context) {
  const Extents extents = plan.problem.static_extents();
  int position = 0;
  for (const Argument& argument : plan.arguments) {
    bytes_.push_back(static_cast<std::size_t>(bytes_of(argument, extents)));
    pointers_.push_back(context.allocate(bytes_.back()));
    const RandomStream stream{.seed = seed, .rank = context.rank(), .argument = position++, .launch = 0};
    const auto data = random_bytes(bytes_.back(), argument.dtype, plan.problem.op.value_or(Op::sum), stream);
    context.device().copy(pointers_.back(), data.data(), data.size());
  }
}

BenchBuffers::~BenchBuffers() {
  for (void* pointer : pointers_) context_.free(pointer);
}

}  // namespace iris
