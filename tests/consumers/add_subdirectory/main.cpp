// Four ranks on the CPU gather what each of them holds, through the typed launcher of a kernel that was compiled with
// this program; then once more as a group that numbers them otherwise.
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include <iris/manifest.hpp>
#include <iris/world.hpp>
#include "everything.hpp"

namespace {

constexpr int ranks = 4;

std::int32_t value_of(int rank, std::int64_t index) {
  return static_cast<std::int32_t>(rank * 1'000'003 + index * 7919 + 1);
}

/// What the group's ranks hold, one after the other.
bool agrees(const iris::Group& group, const std::int32_t* output, std::int64_t count) {
  for (const int rank : group.ranks()) {
    for (std::int64_t index = 0; index < count; ++index) {
      if (*output++ != value_of(rank, index)) return false;
    }
  }
  return true;
}

}  // namespace

int main() {
  const auto manifest = iris::parse_manifest(irisgen_kernels::Everything::embedded().front().manifest);
  const std::int64_t count = manifest.problem.extent("n").value;
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(std::int32_t);

  iris::World world({.size = ranks, .target = "host"});
  world.run([&](iris::Context& context) {
    auto* input = static_cast<std::int32_t*>(context.allocate(bytes));
    auto* output = static_cast<std::int32_t*>(context.allocate(bytes * ranks));
    for (std::int64_t index = 0; index < count; ++index) input[index] = value_of(context.rank(), index);
    for (std::int64_t index = 0; index < count * ranks; ++index) output[index] = -1;
    context.barrier();

    irisgen_kernels::Everything everything(context);
    everything(input, output);
    context.barrier();

    if (!agrees(context, output, count)) throw std::runtime_error("the result is wrong");

    iris::Group group = context.group({3, 1, 0, 2});
    irisgen_kernels::Everything in_other_order(group);
    in_other_order(input, output);
    group.barrier();
    if (!agrees(group, output, count)) throw std::runtime_error("the group's result is wrong");
  });
  std::printf("n = %lld: %d ranks agree with the reference\n", static_cast<long long>(count), ranks);
}
