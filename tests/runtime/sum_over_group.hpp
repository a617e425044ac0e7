#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"

namespace iris::test {

inline constexpr int n = 64;
inline const Extents extents = {{"n", n}};

/// The sum of `values` of a rank over a group, by a launch in a stream of the group's own.
class SumOverGroup {
 public:
  SumOverGroup(Group& group, const std::string& kernel)
      : group_(group),
        sum_(group, host_operation(kernel, group.num_ranks()), extents),
        stream_(group.device().create_stream()),
        input_(static_cast<std::int32_t*>(group.allocate(n * sizeof(std::int32_t)))),
        output_(static_cast<std::int32_t*>(group.allocate(n * sizeof(std::int32_t)))) {}
  ~SumOverGroup() { group_.device().destroy_stream(stream_); }
  SumOverGroup(const SumOverGroup&) = delete;
  SumOverGroup& operator=(const SumOverGroup&) = delete;

  static std::int32_t value(int world_rank, int round, int i) { return (world_rank + 1) * (i * i + 7 * round + 1); }

  void launch(int round, int world_rank) {
    for (int i = 0; i < n; ++i) input_[i] = value(world_rank, round, i);
    std::memset(output_, 0xa5, n * sizeof(std::int32_t));
    sum_.launch({input_, output_}, extents, stream_);
  }
  /// Waits, and compares with what the members' values sum up to.
  void expect_sum(int round) {
    group_.barrier(stream_);
    for (int i = 0; i < n; ++i) {
      std::int32_t sum = 0;
      for (const int member : group_.ranks()) sum += value(member, round, i);
      ASSERT_EQ(output_[i], sum) << "round " << round << ", rank " << group_.rank() << " of the group";
    }
    group_.barrier(stream_);
  }

 private:
  Group& group_;
  Operation sum_;
  Stream stream_;
  std::int32_t* input_;
  std::int32_t* output_;
};

}  // namespace iris::test
