#include <iris/device/unaligned.hpp>

#include "../sample_config.hpp"

using Rows = UnalignedRows<Config::Element>;
using Piece = Pack<Config::Element, Rows::width>;

template <int bytes>
struct WordOf {
  using Type = u32;
};
template <>
struct WordOf<8> {
  using Type = u64;
};

// A tile as it lies in the input, in pieces of 16 bytes. Threads side by side read words down from every width-th row:
// behind as many rows a piece is left free, so that no two threads of a warp find one bank.
struct Tile {
  using Word = typename WordOf<sizeof(Config::Element)>::Type;
  using Words = Pack<Word, piece_bytes / sizeof(Word)>;

  static constexpr i32 columns = sizeof(Word) / sizeof(Config::Element);  // of a word
  static constexpr i32 pieces_of_row = Config::tile_m / Rows::width;

  Words pieces[Config::tile_n * pieces_of_row + Config::tile_n / Rows::width];

  __device__ __forceinline__ static u32 index(i64 row, i64 column) {
    const u32 number = static_cast<u32>(row);
    return number * pieces_of_row + number / Rows::width + static_cast<u32>(column) / Rows::width;
  }
  __device__ __forceinline__ void put(i64 row, i64 column, Piece piece) {
    pieces[index(row, column)] = __builtin_bit_cast(Words, piece);
  }
  // Of a word's columns, from that one on, a piece each: its elements in the rows from that one on.
  __device__ __forceinline__ Packs<Word, Words::width, columns> down(i64 row, i64 column) const {
    constexpr i32 bits = 8 * sizeof(Config::Element);
    constexpr Word element = ~Word{0} >> (8 * sizeof(Word) - bits);
    const Words* const from = pieces + index(row, column);
    const u32 place = static_cast<u32>(column) % Rows::width / columns;
    Packs<Word, Words::width, columns> turned = {};
#pragma unroll
    for (int lane = 0; lane < Rows::width; ++lane) {
      const Word across = from[lane * pieces_of_row][place];
#pragma unroll
      for (int i = 0; i < columns; ++i) {
        turned.packs[i][lane / columns] |= (across >> i * bits & element) << lane % columns * bits;
      }
    }
    return turned;
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
    for_each_pack_of_rows<Rows::width, 1>(block_threads<Config>(), Config::tile_m / Tile::columns, Config::tile_n,
                                          [&](const RowPacks<Rows::width, 1>& at) {
                                            const auto turned = tile.down(at.column[0], at.row[0] * Tile::columns);
#pragma unroll
                                            for (int i = 0; i < Tile::columns; ++i) {
                                              const i64 row = origin.row + at.row[0] * Tile::columns + i;
                                              Config::Element* const to =
                                                  output + row * pitch + origin.column + at.column[0];
                                              if (row < m)
                                                store_pack(reinterpret_cast<Tile::Word*>(to), turned.packs[i]);
                                            }
                                          });
  }
}
