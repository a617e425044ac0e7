#include "iris/device/main_loop/fma.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/device/fake_engine.hpp"

namespace iris::device::tile_test {
namespace {

/// One thread does the work of the block, so that no fibers are needed.
template <typename T, typename Sum, typename Layout = RowMajor>
struct Config {
  static constexpr i32 threads = 1;
  static constexpr i32 vector = 16 / sizeof(T);
  static constexpr i32 tile_m = 8;
  static constexpr i32 tile_n = 8;
  static constexpr i32 tile_k = 8;
  static constexpr i32 tile_band = 2;
  static constexpr i32 unroll = 2;
  using Element = T;
  using Result = T;
  using Accumulate = Sum;
  using LayoutB = Layout;
};

TEST(Fragment, IsAsSquareAsPowersOfTwoAllow) {
  EXPECT_EQ(side_of_square_in(1), 1);
  EXPECT_EQ(side_of_square_in(15), 2);
  EXPECT_EQ(side_of_square_in(16), 4);
  EXPECT_EQ(side_of_square_in(32), 4);
  EXPECT_EQ(side_of_square_in(64), 8);
}

template <i32 of_threads, i32 of_rows, i32 of_columns, typename Sum = f32>
struct ManyThreads : Config<f32, Sum> {
  static constexpr i32 threads = of_threads;
  static constexpr i32 tile_m = of_rows;
  static constexpr i32 tile_n = of_columns;
};

template <typename C>
void expect_each_once() {
  FakeEngine engine;
  std::vector<int> seen(static_cast<std::size_t>(C::tile_m * C::tile_n));
  for (u32 thread = 0; thread < C::threads; ++thread) {
    engine.run(0, thread, [&] {
      for (int i = 0; i < Fragment<C>::rows; ++i) {
        for (int j = 0; j < Fragment<C>::columns; ++j) {
          const int row = Fragment<C>::first_row() + Fragment<C>::rows_on(i);
          const int column = Fragment<C>::first_column() + Fragment<C>::columns_on(j);
          ASSERT_TRUE(row < C::tile_m && column < C::tile_n) << row << ", " << column;
          ++seen[static_cast<std::size_t>(row * C::tile_n + column)];
        }
      }
    });
  }
  for (const int count : seen) EXPECT_EQ(count, 1);
}

TEST(Fragment, CoversTheTileOnce) {
  expect_each_once<ManyThreads<4, 8, 8>>();
  expect_each_once<ManyThreads<256, 64, 64>>();
  expect_each_once<ManyThreads<256, 256, 128>>();       // strips of 8 threads
  expect_each_once<ManyThreads<256, 128, 256, f64>>();  // runs of two
  expect_each_once<ManyThreads<24, 16, 48>>();          // of 4 of 12
  expect_each_once<ManyThreads<16, 32, 32>>();
}

template <typename T>
std::vector<T> numbers(i64 count, int seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int number = static_cast<int>((i * 7 + static_cast<std::size_t>(seed)) % 13) - 6;
    if constexpr (sizeof(T) == 2) {
      values[i] = convert<T>(static_cast<f32>(number));
    } else {
      values[i] = static_cast<T>(number);
    }
  }
  return values;
}

f64 plain(f16 value) {
  return convert<f64>(value);
}
f64 plain(auto value) {
  return static_cast<f64>(value);
}

/// Small integers, so that every sum is exact: tile by tile the product, nothing outside the matrix touched.
template <typename T, typename Sum, typename Layout = RowMajor>
void expect_product(i64 m, i64 n, i64 k) {
  using C = Config<T, Sum, Layout>;
  FakeEngine engine;
  const std::vector<T> a = numbers<T>(m * k + 16, 1);
  const std::vector<T> b = numbers<T>(k * n + 16, 5);
  std::vector<T> out = numbers<T>(m * n + 16, 9);
  const std::vector<T> before = out;
  constexpr bool by_columns = std::is_same_v<Layout, ColumnMajor>;
  engine.run(0, 0, [&] {
    for (i64 row = 0; row < m; row += C::tile_m) {
      for (i64 column = 0; column < n; column += C::tile_n) {
        const auto sums = multiply_tile<C>(dense(a.data(), m, k), Layout::stored(b.data(), k, n), {row, column});
        store_tile<C>(TilePlace<C>{dense(out.data(), m, n), {row, column}, {out.data(), n}}, sums);
      }
    }
  });
  for (i64 row = 0; row < m; ++row) {
    for (i64 column = 0; column < n; ++column) {
      f64 expected = 0;
      for (i64 depth = 0; depth < k; ++depth) {
        expected += plain(a[static_cast<std::size_t>(row * k + depth)]) *
                    plain(b[static_cast<std::size_t>(by_columns ? column * k + depth : depth * n + column)]);
      }
      EXPECT_EQ(plain(out[static_cast<std::size_t>(row * n + column)]), expected) << row << ", " << column;
    }
  }
  for (auto i = static_cast<std::size_t>(m * n); i < out.size(); ++i) EXPECT_EQ(plain(out[i]), plain(before[i]));
}

TEST(MultiplyTile, GivesTheProductWhateverTheShape) {
  for (const i64 m : {1, 8, 11}) {
    for (const i64 n : {1, 8, 13, 16}) {
      for (const i64 k : {0, 1, 8, 20}) {
        expect_product<f32, f32>(m, n, k);
        expect_product<f16, f32>(m, n, k);
        expect_product<f64, f64>(m, n, k);
        expect_product<i32, i32>(m, n, k);
        expect_product<f32, f32, ColumnMajor>(m, n, k);
        expect_product<f16, f32, ColumnMajor>(m, n, k);
      }
    }
  }
}

/// Every tile of a matrix once, in bands of two tiles' height.
TEST(TileAt, GoesDownTheColumnsOfBands) {
  using C = Config<f32, f32>;
  std::vector<std::pair<i64, i64>> order;
  for (i64 index = 0; index < tiles_of<C>(33, 20); ++index) {
    const TileOrigin origin = tile_at<C>(index, 33, 20);
    order.emplace_back(origin.row / 8, origin.column / 8);
  }
  EXPECT_EQ(order, (std::vector<std::pair<i64, i64>>{{0, 0},
                                                     {1, 0},
                                                     {0, 1},
                                                     {1, 1},
                                                     {0, 2},
                                                     {1, 2},
                                                     {2, 0},
                                                     {3, 0},
                                                     {2, 1},
                                                     {3, 1},
                                                     {2, 2},
                                                     {3, 2},
                                                     {4, 0},
                                                     {4, 1},
                                                     {4, 2}}));
}

TEST(TilesOfParts, TakeTheTilesOfAllPartsInTurnAndTheLastPartsLater) {
  using Tile = std::pair<i32, i64>;
  const auto order = [](i32 parts, i64 lag, i64 turn = 0) {
    const TilesOfParts sequence{4, parts, lag, turn};
    std::vector<Tile> tiles;
    for (i64 number = 0; number < parts * sequence.tiles; ++number) {
      const auto [part, index] = sequence.at(number);
      tiles.emplace_back(part, index);
      EXPECT_EQ(sequence.number({part, index}), number);
    }
    return tiles;
  };
  EXPECT_EQ(order(1, 0), (std::vector<Tile>{{0, 0}, {0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(order(1, 3), order(1, 0));
  EXPECT_EQ(order(2, 0), (std::vector<Tile>{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}}));
  EXPECT_EQ(order(2, 1), (std::vector<Tile>{{0, 0}, {0, 1}, {1, 0}, {0, 2}, {1, 1}, {0, 3}, {1, 2}, {1, 3}}));
  EXPECT_EQ(order(3, 3),
            (std::vector<Tile>{
                {0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 0}, {2, 1}, {2, 2}, {2, 3}}));
  EXPECT_EQ(order(3, 9),
            (std::vector<Tile>{
                {0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 0}, {2, 1}, {2, 2}, {2, 3}}));
  EXPECT_EQ(order(2, 1, 1), (std::vector<Tile>{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}}));
  EXPECT_EQ(order(3, 1, 2),
            (std::vector<Tile>{
                {0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {0, 2}, {1, 2}, {2, 1}, {1, 3}, {2, 2}, {0, 3}, {2, 3}}));
}

/// `threads` of a group, one after another: those of several rows take Config::unroll packs at a time.
template <int width>
void expect_packs_inside(i64 rows, i64 columns, i64 threads) {
  using C = Config<f32, f32>;
  FakeEngine engine;
  std::vector<int> seen(static_cast<std::size_t>(rows * columns));
  const TileOrigin origin = {8, 8};
  const auto count = [&](const auto& packs) {
    const auto index = packs.index(columns, origin);
    for (int pack = 0; pack < index.count; ++pack) {
      for (int lane = 0; lane < width; ++lane) ++seen.at(static_cast<std::size_t>(index[pack] + lane));
    }
  };
  for (i64 thread = 0; thread < threads; ++thread) {
    engine.run(0, 0, [&] {
      for_each_pack_of_tile<C, width>({thread, threads}, dense(seen.data(), rows, columns), origin, count);
    });
  }
  for (i64 row = 0; row < rows; ++row) {
    for (i64 column = 0; column < columns; ++column) {
      const bool inside = row >= 8 && row < 16 && column >= 8 && column < 16;
      EXPECT_EQ(seen[static_cast<std::size_t>(row * columns + column)], inside) << row << ", " << column;
    }
  }
}

TEST(ForEachPackOfTile, VisitsTheTileInsideTheMatrixOnce) {
  for (const i64 threads : {1, 2, 3, 4, 6, 16, 40}) {
    SCOPED_TRACE(threads);
    expect_packs_inside<4>(20, 24, threads);
    expect_packs_inside<4>(11, 12, threads);
    expect_packs_inside<1>(11, 13, threads);
  }
}

/// A product between the columns of a wider matrix: what lies beside it stays.
TEST(StoreTile, KeepsToItsColumnsOfAMatrixWithAStride) {
  using C = Config<f32, f32>;
  FakeEngine engine;
  constexpr i64 rows = 11;
  constexpr i64 stride = 40;
  for (const i64 columns : {8, 12, 13}) {
    const std::vector<f32> a = numbers<f32>(rows * 5, 1);
    const std::vector<f32> b = numbers<f32>(5 * columns, 5);
    std::vector<f32> wide(rows * stride, -1.0f);
    engine.run(0, 0, [&] {
      for (i64 row = 0; row < rows; row += C::tile_m) {
        for (i64 column = 0; column < columns; column += C::tile_n) {
          const auto sums = multiply_tile<C>(dense(a.data(), rows, 5), dense(b.data(), 5, columns), {row, column});
          const Matrix<f32> matrix = {wide.data() + 16, rows, columns, stride};
          store_tile<C>(TilePlace<C>{matrix, {row, column}, {wide.data(), stride}}, sums);
        }
      }
    });
    for (i64 row = 0; row < rows; ++row) {
      for (i64 column = 0; column < stride; ++column) {
        f32 expected = -1;
        if (column >= 16 && column < 16 + columns) {
          expected = 0;
          for (i64 k = 0; k < 5; ++k) {
            expected +=
                a[static_cast<std::size_t>(row * 5 + k)] * b[static_cast<std::size_t>(k * columns + column - 16)];
          }
        }
        EXPECT_EQ(wide[static_cast<std::size_t>(row * stride + column)], expected) << row << ", " << column;
      }
    }
  }
}

}  // namespace
}  // namespace iris::device::tile_test
