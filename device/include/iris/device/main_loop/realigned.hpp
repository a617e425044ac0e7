#pragma once

#include <iris/device/main_loop/staged.hpp>
#include <iris/device/unaligned.hpp>

/// Slices of operands whose rows begin anywhere. Threads read the aligned 16 bytes that hold what they copy, and the
/// next ones where it goes on there, and shift them into place on their way to shared memory, one slice ahead.
namespace iris::device {

/// What one thread copies of each slice in turn: of `lines`, each contiguous in memory, pieces of 16 bytes, `across` of
/// each line. All pieces of a thread begin at the same byte after a multiple of 16, since it takes every so many lines.
template <typename Config, typename T, int lines, int across>
class RealignedPart {
  static constexpr int step = Config::threads / across;
  static constexpr int count = lines / step;
  static_assert(step * across == Config::threads && count * step == lines, "threads copy equally much");
  static_assert(step * sizeof(T) % piece_bytes == 0, "the pieces of a thread begin alike");

 public:
  /// `lines` from `first_line` on, from the column `first_column` on.
  __device__ __forceinline__ RealignedPart(const Matrix<const T>& matrix, i64 first_line, i64 first_column)
      : end_(bytes_of(matrix.data + (matrix.rows - 1) * matrix.stride + matrix.columns)),
        to_next_(step * matrix.stride * static_cast<i64>(sizeof(T))) {
    const auto* const first = bytes_of(matrix.data + (first_line + line()) * matrix.stride + first_column) + byte();
    shift_ = static_cast<u32>(reinterpret_cast<u64>(first) % piece_bytes);
    from_ = first - shift_;
  }

  /// Goes on to a slice of which so many lines, and columns, are left, so many bytes behind the one before.
  __device__ __forceinline__ void go_on(int lines_left, int columns_left, i64 bytes) {
    const int bytes_left = columns_left * static_cast<int>(sizeof(T)) - byte();
    bytes_before_ = bytes_;
    bytes_ = bytes_left < piece_bytes ? bytes_left : piece_bytes;
    lines_left_ = lines_left - line();
    from_ += bytes;
  }

  /// Asks for it.
  __device__ __forceinline__ void fetch() {
    fetch_after([](int) {});
  }

  /// Stores what has come of the slice before to place_of(line, byte), zeros outside the matrix, and asks for this one.
  template <typename PlaceOf>
  __device__ __forceinline__ void exchange(const PlaceOf& place_of) {
    fetch_after([&](int i) { put_piece(i, place_of(line() + i * step, byte())); });
  }

 private:
  __device__ __forceinline__ static int line() { return thread_index() / across; }
  __device__ __forceinline__ static int byte() { return thread_index() % across * piece_bytes; }
  __device__ __forceinline__ static const unsigned char* bytes_of(const T* data) {
    return reinterpret_cast<const unsigned char*>(data);
  }

  __device__ __forceinline__ void put_piece(int i, void* place) const {
    Pack<u32, 4> piece = bytes_from(shift_, words_[i][0], words_[i][1]);
    if (bytes_before_ < piece_bytes) piece = first_bytes(piece, bytes_before_);
    *static_cast<Pack<u32, 4>*>(place) = piece;
  }

  /// Calls before(i) of each piece, and asks for the next in its place.
  template <typename Before>
  __device__ __forceinline__ void fetch_after(const Before& before) {
    const auto* from = from_;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      before(i);
      const bool is_there = i * step < lines_left_ && bytes_ > 0;
      const bool goes_on = is_there && static_cast<i32>(shift_) + bytes_ > piece_bytes;
      words_[i][0] = read(from, is_there);
      words_[i][1] = read(from + piece_bytes, goes_on);
      from += to_next_;
    }
  }

  __device__ __forceinline__ Pack<u32, 4> read(const unsigned char* from, bool is_there) const {
    Pack<u32, 4> piece = {};
    if (is_there) piece = load_piece<T>(from, end_);
    return piece;
  }

  const unsigned char* from_;
  const unsigned char* end_;  // of the matrix
  i64 to_next_;               // from a piece of the thread to its next, in bytes
  u32 shift_;
  i32 bytes_ = 0;         // of each piece of the slice,
  i32 bytes_before_ = 0;  // and of that before
  i32 lines_left_ = 0;    // after the thread's first
  Pack<u32, 4> words_[count][2];
};

/// The slices of a tile's operands, as Slices has them; the places of a stage are those of bytes.
template <typename Config, typename Stage>
class RealignedSlices {
  using T = typename Stage::Element;
  static constexpr bool along_k = Config::LayoutB::contiguous_along_k;
  static constexpr int row_bytes = Stage::depth * sizeof(T);
  static constexpr int width = 16 / sizeof(T);
  static constexpr int across = Stage::depth / width;

 public:
  static constexpr bool asynchronous = false;  // they take threads' time, and registers that products need, too

  __device__ __forceinline__ RealignedSlices(const Matrix<const T>& a, const Matrix<const T>& b,
                                             const TileOrigin& origin)
      : k_(a.columns),
        rows_left_(up_to(a.rows - origin.row, Config::tile_m)),
        columns_left_(up_to((along_k ? b.rows : b.columns) - origin.column, Config::tile_n)),
        slice_of_b_(along_k ? row_bytes : b.stride * row_bytes),
        part_of_a_(a, origin.row, 0),
        part_of_b_(b, along_k ? origin.column : 0, along_k ? 0 : origin.column) {
    go_on(0);
    part_of_a_.fetch();
    part_of_b_.fetch();
#pragma unroll 1
    for (int slice = 0; slice < 2; ++slice) copy_next();
  }

  __device__ __forceinline__ i64 count() const { return divide_up(k_, Stage::depth); }

  __device__ __forceinline__ const Stage& first() {
    sync_block();
    return of(0);
  }
  __device__ __forceinline__ const Stage& next() {
    sync_block();
    return of(copied_ - 1);
  }

  __device__ __forceinline__ void copy_next() {
    Stage& stage = of(copied_++);
    constexpr int element_bytes = sizeof(T);
    go_on(1);
    part_of_a_.exchange([&](int row, int byte) { return stage.place_of_a(row, byte / element_bytes); });
    part_of_b_.exchange([&](int line, int byte) {
      return along_k ? stage.place_of_b(byte / element_bytes, line) : stage.place_of_b(line, byte / element_bytes);
    });
  }

 private:
  __device__ __forceinline__ static Stage& of(i64 slice) {
    return shared<RingOfStages<Stage>>().stages[slice % ring_stages];
  }
  __device__ __forceinline__ void go_on(i64 slices) {
    const int k_left = up_to(k_ - copied_ * Stage::depth, Stage::depth);
    part_of_a_.go_on(rows_left_, k_left, slices * row_bytes);
    part_of_b_.go_on(along_k ? columns_left_ : k_left, along_k ? k_left : columns_left_, slices * slice_of_b_);
  }

  i64 k_;
  int rows_left_;
  int columns_left_;
  i64 slice_of_b_;  // bytes from one slice to the next
  i64 copied_ = 0;
  RealignedPart<Config, T, Config::tile_m, across> part_of_a_;
  RealignedPart<Config, T, along_k ? Config::tile_n : Stage::depth, along_k ? across : Config::tile_n / width>
      part_of_b_;
};

}  // namespace iris::device
