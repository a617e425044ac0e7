#include <gtest/gtest.h>
#include <iris/device/output.hpp>

namespace iris::device::output_test {
namespace {

struct Plain {
  using Result = f16;
  using Accumulate = f32;
};

TEST(Output, RoundsOnce) {
  const Output<Plain> output{nullptr, 4};
  const auto results = output.finish(PackIndex<2, 1>{0, 0}, Packs<f32, 2, 1>{{{{2049.5f, 1.0f}}}});
  EXPECT_EQ(convert<f32>(results.packs[0][0]), 2050.0f);
  EXPECT_EQ(convert<f32>(results.packs[0][1]), 1.0f);
}

/// Says what it was called with.
struct Tell {
  f32 operator()(f32 value, const Coordinates& at, i64 index) const {
    ++*calls;
    return value + 1000.0f * static_cast<f32>(at.row) + 100.0f * static_cast<f32>(at.column) +
           10.0f * static_cast<f32>(index);
  }
  int* calls;
};
struct Telling {
  using Result = f32;
  using Accumulate = f32;
  using Epilogue = Tell;
};

TEST(Output, TellsTheEpilogueWhereAValueStands) {
  int calls = 0;
  const Output<Telling> output{nullptr, 3, {&calls}};
  const Pack<f32, 4> results = output.finish(4, Pack<f32, 4>{{1, 2, 3, 4}});  // (1,1), (1,2), (2,0), (2,1)
  EXPECT_EQ(results[0], 1141.0f);
  EXPECT_EQ(results[1], 1252.0f);
  EXPECT_EQ(results[2], 2063.0f);
  EXPECT_EQ(results[3], 2174.0f);
  EXPECT_EQ(calls, 4);
}

struct TellBoth : Tell {
  Pack<f32, 2> pair(const Pack<f32, 2>& value, const Coordinates& at, i64 index) const {
    ++*pairs;
    return {{(*this)(value[0], at, index), (*this)(value[1], {at.row, at.column + 1}, index + 1)}};
  }
  int* pairs;
};
struct TellingBoth : Telling {
  using Epilogue = TellBoth;
};

TEST(Output, AsksForNeighboursTogetherWhereTheyCome) {
  int calls = 0;
  int pairs = 0;
  const Output<TellingBoth> output{nullptr, 4, {{&calls}, &pairs}};
  const Pack<f32, 4> results = output.finish(6, Pack<f32, 4>{{1, 2, 3, 4}});  // (1,2), (1,3), (2,0), (2,1)
  EXPECT_EQ(results[0], 1261.0f);
  EXPECT_EQ(results[1], 1372.0f);
  EXPECT_EQ(results[2], 2083.0f);
  EXPECT_EQ(results[3], 2194.0f);
  EXPECT_EQ(pairs, 2);
  EXPECT_EQ(output.finish(6, Pack<f32, 4>{{1, 2, 3, 4}}, 2)[1], 1372.0f);
  EXPECT_EQ(pairs, 3);
  EXPECT_EQ(output.finish(4, Pack<f32, 3>{{1, 2, 3}})[2], 1263.0f);
  EXPECT_EQ(pairs, 3) << "of an odd number the last has no neighbour";
}

TEST(Output, LeavesTheEpilogueAloneWithWhatIsNotThere) {
  int calls = 0;
  const Output<Telling> output{nullptr, 3, {&calls}};
  output.finish(6, Pack<f32, 4>{{1, 2, 3, 4}}, 2);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace iris::device::output_test
