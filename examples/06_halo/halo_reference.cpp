#include <iris/device/types.hpp>

using namespace iris::device;

// The image as a whole, step by step; at least one.
template <typename Config>
void relax(double* const* image, double* const* relaxed, i64 m, i64 n) {
  const i64 height = Config::world * m;
  for (i32 step = 0; step < Config::steps; ++step) {
    const auto pixel = [&](i64 row, i64 column) {
      row = row < 0 ? 0 : row >= height ? height - 1 : row;
      column = column < 0 ? 0 : column >= n ? n - 1 : column;
      return image[row / m][row % m * n + column];
    };
    for (i64 row = 0; row < height; ++row) {
      for (i64 column = 0; column < n; ++column) {
        relaxed[row / m][row % m * n + column] =
            0.25 * (pixel(row - 1, column) + pixel(row + 1, column) + pixel(row, column - 1) + pixel(row, column + 1));
      }
    }
    for (i32 rank = 0; rank < Config::world; ++rank)
      for (i64 i = 0; i < m * n; ++i) image[rank][i] = relaxed[rank][i];
  }
}
