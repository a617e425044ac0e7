#pragma once

#include <iris/device/lines.hpp>
#include <iris/device/reduce.hpp>
#include <iris/device/tile.hpp>

namespace iris::device {

/// Where all ranks' parts of a matrix of sums arrive, a tile at a time: messages of lines.hpp, each row of the matrix
/// in lines of its own of 8 bytes, the last of which may be short. The first `reserved` bytes of the workspace are not
/// its own.
template <typename Config>
class RowMailbox {
 public:
  using Result = typename Config::Result;
  /// Results in a line.
  static constexpr i32 width = line_elements<Result>;
  static_assert(Config::tile_n % width == 0, "a tile is made of whole lines");

  __device__ __forceinline__ RowMailbox(const Launch<Config>& launch, i64 rows, i64 columns, i64 reserved)
      : rows_(rows), columns_(columns), mailbox_(launch, rows * lines_of_row() * width, reserved) {}

  __device__ __forceinline__ i64 rows() const { return rows_; }
  __device__ __forceinline__ i64 columns() const { return columns_; }
  /// So many rows, each as long as its lines: for for_each_pack_of_tile().
  __device__ __forceinline__ Matrix<const Result> lines_of(i64 rows) const {
    return dense<const Result>(nullptr, rows, lines_of_row() * width);
  }

  /// Sends this rank's part of the line that begins there, at a multiple of `width`, to rank `peer`.
  __device__ __forceinline__ void send(i64 row, i64 column, const Pack<Result, width>& values, i32 peer) const {
    mailbox_.send(line(row, column), values, peer);
  }

  /// Waits for packs of a tile that begins there, of every rank, and stores their sums in a matrix of as many columns.
  /// False, with the fault recorded, if one of them took longer than Context::timeout_ns.
  template <int count>
  __device__ __forceinline__ bool sum(const TileOrigin& origin, const PacksOfTile<width, count>& packs,
                                      const Output<Config>& output) const {
    i64 lines[count];
#pragma unroll
    for (int i = 0; i < count; ++i) {
      lines[i] = line(origin.row + packs.row + i * packs.step, origin.column + packs.column);
    }
    LinePack<Result> arrived[count][Config::world];
    if (!mailbox_.receive(lines, arrived)) return false;
    const auto index = packs.index(columns_, origin);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      store(output, index[i], origin.column + packs.column, reduce_packs<Config, Sum>(arrived[i]));
    }
    return true;
  }

 private:
  __device__ __forceinline__ i64 lines_of_row() const { return divide_up(columns_, width); }
  __device__ __forceinline__ i64 line(i64 row, i64 column) const { return row * lines_of_row() + column / width; }

  __device__ __forceinline__ void store(const Output<Config>& output, i64 first, i64 column,
                                        const Pack<typename Config::Accumulate, width>& sums) const {
    if (columns_ % width == 0) {
      store_pack(output.data + first, output.finish(first, sums));
      return;
    }
    const i64 left = columns_ - column;
    const i32 held = left < width ? static_cast<i32>(left) : width;
    const auto results = output.finish(first, sums, held);
#pragma unroll
    for (i32 lane = 0; lane < width; ++lane) {
      if (lane < held) store_pack(output.data + first + lane, Pack<Result, 1>{{results[lane]}});
    }
  }

  i64 rows_;
  i64 columns_;
  Mailbox<Config, LinePack<Result>> mailbox_;
};

}  // namespace iris::device
