// What the main loop of sm_90a asks of an epilogue, on the CPU as in wgmma_test.cpp.
#include <gtest/gtest.h>

#include <atomic>

#include "iris/device/main_loop.hpp"
#include "iris/device/signal.hpp"
#include "tests/device/emulated_products.hpp"
#include "tests/device/wgmma_config.hpp"

// Templates include it once more, to no effect: they take the Config of the namespace that they are in.
namespace sample {
#include "templates/sample_config.hpp"
}

namespace {

using namespace iris::device;
using namespace emulated_products;

/// An epilogue that tells places apart, and notices if it is asked for one that does not exist.
struct TellPlace {
  static inline i64 rows = 0;
  static inline i64 columns = 0;
  static inline bool was_outside = false;

  f32 operator()(f32 value, const Coordinates& at, i64 index) const {
    const bool is_inside = at.row >= 0 && at.row < rows && at.column >= 0 && at.column < columns;
    if (!is_inside || index != at.row * columns + at.column) was_outside = true;
    return value + static_cast<f32>(at.row % 5 * 8 + at.column % 7);
  }
};
/// The same of neighbours.
struct TellPair : TellPlace {
  static inline std::atomic<i64> pairs = 0;

  Pack<f32, 2> pair(const Pack<f32, 2>& value, const Coordinates& at, i64 index) const {
    if (at.column % 2 != 0) was_outside = true;
    ++pairs;
    return {{(*this)(value[0], at, index), (*this)(value[1], {at.row, at.column + 1}, index + 1)}};
  }
};
namespace finished_transposed {
struct Config : Alone<bf16, bf16, ColumnMajor, 64, 4> {
  using Epilogue = TellPlace;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace finished_transposed
namespace finished_in_matrices {
struct Config : Alone<f16, f16, ColumnMajor, 160, 4> {
  using Epilogue = TellPlace;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace finished_in_matrices
namespace finished_in_pairs {
struct Config : Alone<tf32, f32, ColumnMajor, 128, 3> {
  using Epilogue = TellPlace;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace finished_in_pairs
namespace finished_in_parts {
struct Config : Alone<bf16, bf16, ColumnMajor, 64, 4, 128, 2> {
  using Epilogue = TellPlace;
};
#include "templates/matmul/split_k.hip"
ENTRY
}  // namespace finished_in_parts

namespace pairs_transposed {
struct Config : finished_transposed::Config {
  using Epilogue = TellPair;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace pairs_transposed
namespace pairs_in_matrices {
struct Config : finished_in_matrices::Config {
  using Epilogue = TellPair;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace pairs_in_matrices
namespace pairs_of_singles {
struct Config : finished_in_pairs::Config {
  using Epilogue = TellPair;
};
#include "templates/matmul/tiled.hip"
ENTRY
}  // namespace pairs_of_singles
namespace pairs_in_parts {
struct Config : finished_in_parts::Config {
  using Epilogue = TellPair;
};
#include "templates/matmul/split_k.hip"
ENTRY
}  // namespace pairs_in_parts

/// Tiles stick out at the bottom and on the right.
template <typename Config>
void expect_finished(iris::host::Entry entry, const Extents& extents) {
  TellPlace::rows = extents.m;
  TellPlace::columns = extents.n;
  TellPlace::was_outside = false;
  expect_product<Config>(entry, extents, 13);
  EXPECT_FALSE(TellPlace::was_outside);
}
TEST(Wgmma, an_epilogue_is_asked_for_places_that_there_are) {
  expect_finished<finished_transposed::Config>(finished_transposed::entry, {141, 72, 72});
  expect_finished<finished_in_matrices::Config>(finished_in_matrices::entry, {141, 168, 72});
  expect_finished<finished_in_pairs::Config>(finished_in_pairs::entry, {141, 132, 36});
  expect_finished<finished_in_parts::Config>(finished_in_parts::entry, {200, 72, 392});
}
TEST(Wgmma, an_epilogue_takes_neighbours_together) {
  const auto pairs_of = [](const auto& expect) {
    TellPair::pairs = 0;
    expect();
    return TellPair::pairs.load();
  };
  EXPECT_EQ(pairs_of([] { expect_finished<pairs_transposed::Config>(pairs_transposed::entry, {141, 72, 72}); }), 0)
      << "a thread has neighbours of a column";
  EXPECT_GE(pairs_of([] { expect_finished<pairs_in_matrices::Config>(pairs_in_matrices::entry, {141, 170, 72}); }),
            141 * 170 / 2);
  EXPECT_GE(pairs_of([] { expect_finished<pairs_of_singles::Config>(pairs_of_singles::entry, {141, 132, 36}); }),
            141 * 132 / 2);
  EXPECT_GE(pairs_of([] { expect_finished<pairs_in_parts::Config>(pairs_in_parts::entry, {200, 74, 392}); }),
            200 * 74 / 2);
}

}  // namespace
