#include <iris/device/unaligned.hpp>

#include "../sample_config.hpp"

using Rows = UnalignedRows<Config::Element>;
using Piece = Pack<Config::Element, Rows::width>;

// A tile as it lies in the input. What is added to its rows leaves few threads that read down its columns with a bank
// in common.
struct alignas(16) Tile {
  static constexpr i32 word = sizeof(Config::Element) < 4 ? 4 / sizeof(Config::Element) : 1;

  Config::Element elements[Config::tile_n][Config::tile_m + word];

  __device__ __forceinline__ void put(i64 row, i64 column, Piece piece) {
#pragma unroll
    for (int lane = 0; lane < Rows::width; lane += word) {
      Pack<Config::Element, word> part;
#pragma unroll
      for (int i = 0; i < word; ++i) part[i] = piece[lane + i];
      *reinterpret_cast<Pack<Config::Element, word>*>(&elements[row][column + lane]) = part;
    }
  }
  // As words: hiprtc 5 keeps memory for a pack of elements that are put together here and stored.
  __device__ __forceinline__ Pack<u32, 4> down(i64 row, i64 column) const {
    Piece piece;
#pragma unroll
    for (int lane = 0; lane < Rows::width; ++lane) piece[lane] = elements[row + lane][column];
    return __builtin_bit_cast(Pack<u32, 4>, piece);
  }
};

// Copies the columns of a matrix of n rows × m columns, whose rows begin anywhere, as rows that begin at cache lines,
// with zeros to the end of the last one.
__device__ __forceinline__ void kernel(const Context&, const Config::Element* input, Config::Element* output, i64 m,
                                       i64 n) {
  const Rows rows{dense(input, n, m)};
  Tile& tile = shared<Tile>();
  const i64 pitch = round_up(n, Config::tile_n);
  const i64 tiles_down = divide_up(m, Config::tile_m);
  for (i64 number = block_index(); number < tiles_down * (pitch / Config::tile_n); number += Config::blocks) {
    const TileOrigin origin = {number % tiles_down * Config::tile_m, number / tiles_down * Config::tile_n};
    sync_block();
    for_each_pack_of_rows<Rows::width, Config::unroll>(block_threads<Config>(), Config::tile_n, Config::tile_m,
                                                       [&]<int count>(const RowPacks<Rows::width, count>& at) {
                                                         const auto loaded =
                                                             rows.load(at.moved(origin.column, origin.row));
#pragma unroll
                                                         for (int i = 0; i < count; ++i)
                                                           tile.put(at.row[i], at.column[i], loaded.packs[i]);
                                                       });
    sync_block();
    for_each_pack_of_rows<Rows::width, 1>(
        block_threads<Config>(), Config::tile_m, Config::tile_n, [&](const RowPacks<Rows::width, 1>& at) {
          const i64 row = origin.row + at.row[0];
          Config::Element* const to = output + row * pitch + origin.column + at.column[0];
          if (row < m) store_pack(reinterpret_cast<u32*>(to), tile.down(at.column[0], at.row[0]));
        });
  }
}
