#include <iris/device/tile.hpp>

#include "../sample_config.hpp"

// Each rank multiplies alone; its blocks take the tiles of the output in turn.
__device__ __forceinline__ void kernel(const Context&, const Config::Element* a, const Config::Element* b,
                                       Config::Result* output, i64 m, i64 n, i64 k) {
  const i64 columns = divide_up(n, Config::tile_n);
  const i64 tiles = divide_up(m, Config::tile_m) * columns;
  for (i64 tile = block_index(); tile < tiles; tile += Config::blocks) {
    const TileOrigin origin = {tile / columns * Config::tile_m, tile % columns * Config::tile_n};
    const auto sums = multiply_tile<Config>(dense(a, m, k), dense(b, k, n), origin);
    store_tile<Config>(dense(output, m, n), origin, sums);
  }
}
