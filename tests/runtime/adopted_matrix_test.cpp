// Every pattern, variant and shard on the CPU, on memory that somebody else has allocated.

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <vector>

#include "adopted_samples.hpp"
#include "run_samples.hpp"

namespace iris::adopted_matrix_test {
namespace {

using test::Algorithm;
using test::Lie;

class AdoptedMatrix : public testing::TestWithParam<Algorithm> {};

TEST_P(AdoptedMatrix, EveryBitIsAsOnTheHeap) {
  for (const int world_size : {2, 3}) {
    const test::Sample sample = test::sample_for_bits(GetParam(), world_size);
    SCOPED_TRACE(sample.text());
    const test::VerifiedKernel kernel = test::verified(test::build(sample), sample.extents);
    std::mutex mutex;
    std::vector<std::unique_ptr<std::vector<char>>> memories;
    const auto allocate = [&](Context&, std::size_t bytes) {
      const std::lock_guard lock(mutex);
      memories.push_back(std::make_unique<std::vector<char>>(bytes + 256));
      char* const begin = memories.back()->data();
      return begin + (256 - reinterpret_cast<std::uintptr_t>(begin) % 256) % 256;
    };
    World world({.size = world_size, .heap_bytes = 4 << 20, .seed = 3});
    for (const Lie lie : test::every_lie) {
      world.run([&](Context& context) {
        EXPECT_EQ(test::differing_bytes(context, kernel, lie, allocate), 0U)
            << "rank " << context.rank() << ", lie " << static_cast<int>(lie);
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AdoptedMatrix, testing::ValuesIn(test::every_algorithm()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace iris::adopted_matrix_test
