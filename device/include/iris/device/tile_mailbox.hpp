#pragma once

#include <iris/device/lines.hpp>
#include <iris/device/reduce.hpp>
#include <iris/device/tile.hpp>

namespace iris::device {

/// Where all ranks' parts of a matrix of results arrive, a tile at a time, in messages of lines.hpp: each row of a tile
/// in lines of its own, the last of which may be short, so that a tile's lines follow one another. The first `reserved`
/// bytes of the workspace (a multiple of 16) are not its own.
template <typename Config>
class TileMailbox {
 public:
  using Result = typename Config::Result;
  /// Results in a line, and in an access.
  static constexpr i32 width = Config::line;
  static constexpr i32 access = width & -width;
  static_assert(Config::tile_n % access == 0, "rows of a tile are whole accesses");
  using Values = LinePack<Result, width>;
  using Sums = Pack<typename Config::Accumulate, width>;

  /// A thread's lines of a tile, several at once. One that is not there stands for the first of its row, which is.
  struct Lines {
    static constexpr int count = Config::unroll;
    using OfRanks = Values[count][Config::world];

    i64 tile_column;  ///< where the tile begins
    i64 row[count];
    i32 column[count];  ///< within the tile
    bool is_there[count];
  };

  __device__ __forceinline__ TileMailbox(const Launch<Config>& launch, i64 rows, i64 columns, i64 reserved)
      : rows_(platform::held_by_lanes(rows)),
        columns_(platform::held_by_lanes(columns)),
        mailbox_(launch, divide_up(columns_, Config::tile_n) * rows_ * lines_of_row * width, reserved) {}

  __device__ __forceinline__ i64 rows() const { return rows_; }
  __device__ __forceinline__ i64 columns() const { return columns_; }
  /// Another one of as many rows and columns, behind it.
  __device__ __forceinline__ TileMailbox next() const { return {rows_, columns_, mailbox_.next()}; }

  /// Calls body(Lines) for the lines of some rows of the tile that begins at column `column`, distributed to the
  /// group's threads: from row `first_row` on, in a circle.
  template <typename Body>
  __device__ __forceinline__ void for_each_line(ThreadGroup group, const Range& rows, i64 first_row, i64 column,
                                                const Body& body) const {
    const i32 count = static_cast<i32>(rows.end - rows.begin) * lines_of_row;
    const i32 threads = static_cast<i32>(group.size);
    for (i32 first_line = static_cast<i32>(group.index); first_line < count; first_line += Lines::count * threads) {
      Lines lines;
      lines.tile_column = column;
#pragma unroll
      for (int i = 0; i < Lines::count; ++i) {
        const i32 number = first_line + i * threads;
        const i32 in_row = number % lines_of_row * width;
        const bool is_there = number < count && column + in_row < columns_;
        const i64 row = first_row + (is_there ? number / lines_of_row : 0);
        lines.row[i] = row < rows.end ? row : row - (rows.end - rows.begin);
        lines.column[i] = is_there ? in_row : 0;
        lines.is_there[i] = is_there;
      }
      body(lines);
    }
  }

  /// A line of row `row` of a tile, as the main loop holds it; zero beyond the tile's last column.
  template <typename Held>
  __device__ __forceinline__ static Values load(const Lines& lines, int i, i64 row, const Held& held) {
    Values values = {};
#pragma unroll
    for (i32 lane = 0; lane < width; lane += access) {
      if (lines.column[i] + lane >= Config::tile_n) break;
      const PacksOfTile<access, 1> packs = {static_cast<int>(row), lines.column[i] + lane, 0};
      const auto loaded = held.load(packs).packs[0];
#pragma unroll
      for (i32 j = 0; j < access; ++j) values[lane + j] = loaded[j];
    }
    return values;
  }

  /// Sends this rank's part of line number `i` to rank `peer`, in whose matrix it is one of row `row`.
  __device__ __forceinline__ void send(const Lines& lines, int i, i64 row, const Values& values, i32 peer) const {
    mailbox_.send(number_of(lines, i, row), values, peer);
  }

  /// Waits for such lines of every rank. False, with the fault recorded, if one of them took longer than
  /// Context::timeout_ns.
  __device__ __forceinline__ bool receive(const Lines& lines, typename Lines::OfRanks& of_ranks) const {
    i64 numbers[Lines::count];
#pragma unroll
    for (int i = 0; i < Lines::count; ++i) numbers[i] = number_of(lines, i, lines.row[i]);
    return mailbox_.receive(numbers, of_ranks);
  }
  /// The same, and stores their sums in the same rows of the output.
  __device__ __forceinline__ bool receive_sums(const Lines& lines, const Output<Config>& output) const {
    typename Lines::OfRanks of_ranks;
    if (!receive(lines, of_ranks)) return false;
#pragma unroll
    for (int i = 0; i < Lines::count; ++i) {
      if (!lines.is_there[i]) continue;
      const i64 row = lines.row[i];
      store(output, lines, i, row, finish(output, lines, i, row, reduce_packs<Config, Sum>(of_ranks[i])));
    }
    return true;
  }

  /// What results of a line are to be in row `row` of an output of as many columns.
  __device__ __forceinline__ Values finish(const Output<Config>& output, const Lines& lines, int i, i64 row,
                                           const Sums& sums) const {
    return output.finish(index_in(lines, i, row), sums, held_by(lines, i));
  }

  /// Stores results there.
  __device__ __forceinline__ void store(const Output<Config>& output, const Lines& lines, int i, i64 row,
                                        const Values& results) const {
    const i32 held = held_by(lines, i);
    Result* const to = output.data + index_in(lines, i, row);
    if (columns_ % access == 0) {
#pragma unroll
      for (i32 lane = 0; lane < width; lane += access) {
        if (lane < held) store_lanes<access>(to, results, lane);
      }
    } else {
#pragma unroll
      for (i32 lane = 0; lane < width; ++lane) {
        if (lane < held) store_lanes<1>(to, results, lane);
      }
    }
  }

 private:
  __device__ __forceinline__ TileMailbox(i64 rows, i64 columns, const Mailbox<Config, Values>& mailbox)
      : rows_(rows), columns_(columns), mailbox_(mailbox) {}

  static constexpr i32 lines_of_row = (Config::tile_n + width - 1) / width;

  __device__ __forceinline__ i64 number_of(const Lines& lines, int i, i64 row) const {
    return (lines.tile_column / Config::tile_n * rows_ + row) * lines_of_row + lines.column[i] / width;
  }
  __device__ __forceinline__ i64 index_in(const Lines& lines, int i, i64 row) const {
    return row * columns_ + lines.tile_column + lines.column[i];
  }

  /// Results in a line: those beyond the tile are the next one's.
  __device__ __forceinline__ i32 held_by(const Lines& lines, int i) const {
    const i64 left_of_matrix = columns_ - lines.tile_column - lines.column[i];
    const i64 left_of_tile = Config::tile_n - lines.column[i];
    const i64 left = left_of_tile < left_of_matrix ? left_of_tile : left_of_matrix;
    return left < width ? static_cast<i32>(left) : width;
  }

  template <int lanes>
  __device__ __forceinline__ static void store_lanes(Result* to, const Values& results, i32 lane) {
    Pack<Result, lanes> pack;
#pragma unroll
    for (i32 j = 0; j < lanes; ++j) pack[j] = results[lane + j];
    store_pack(to + lane, pack);
  }

  i64 rows_;
  i64 columns_;
  Mailbox<Config, Values> mailbox_;
};

}  // namespace iris::device
