#pragma once

#include <iris/device/main_loop/mfma_layout.hpp>
#include <iris/device/platform/cdna.hpp>
#include <iris/device/tile.hpp>

namespace iris::device {

/// What one thread brings of each slice of both operands to AMD's matrix cores, from memory to registers and on to
/// shared memory. Config is that of mfma.hpp.
struct WaveSlices : WaveLayout {
  using Bits = platform::Bits<16>;

  /// What the loop moves: an element, or two of 8 bits, which the cores alone tell apart.
  struct PairOf8Bits {
    unsigned short bits;
  };
  template <typename Element, int bytes = sizeof(Element)>
  struct UnitOf {
    using Type = Element;
  };
  template <typename Element>
  struct UnitOf<Element, 1> {
    using Type = PairOf8Bits;
  };
  template <typename Config>
  using Unit = typename UnitOf<typename Config::Element>::Type;

  template <typename Config>
  static constexpr int unit_depth = depth_of<sizeof(Unit<Config>)>;

  template <typename Config>
  using Core = platform::MatrixCore<typename Config::Element>;
  template <typename Config>
  struct Shape {
    static_assert(sizeof(typename Config::Accumulate) == (sizeof(typename Config::Element) == 8 ? 8 : 4),
                  "sums are in f32, those of f64 in f64");
    static_assert(Config::tile_k * sizeof(typename Config::Element) == chunks * place_bytes,
                  "a slice is as deep as what the lanes of a wave hold");
    static_assert(Config::tile_n % wave_columns == 0, "waves multiply 64 columns each");
    static constexpr int waves_across = Config::tile_n / wave_columns;
    static constexpr int waves_down = Config::threads / wave_threads / waves_across;
    static constexpr int wave_rows = Config::tile_m / waves_down;
    static_assert(waves_down * waves_across * wave_threads == Config::threads && wave_rows % side == 0 &&
                      waves_down * wave_rows == Config::tile_m,
                  "the tile cannot be distributed to the waves in equal parts");

    // The first waves fetch B, the others A, so that each fetches about as much.
    static constexpr int threads_of_b = depth / block_rows * (Config::tile_n / width);
    static constexpr int threads_of_a = Config::threads - threads_of_b;
    static_assert(threads_of_b % wave_threads == 0 && threads_of_a > 0, "whole waves fetch either operand");
  };

  /// A slice of both operands. A place has units along k of one row of A, or of one column of B.
  template <typename Config>
  struct Stage {
    Bits a[chunks * Config::tile_m];
    Bits b[chunks * Config::tile_n];
  };
  /// As the loop moves it.
  template <typename Config>
  __device__ __forceinline__ static Matrix<const Unit<Config>> in_units(
      const Matrix<const typename Config::Element>& matrix) {
    constexpr i64 elements = sizeof(Unit<Config>) / sizeof(typename Config::Element);
    return {reinterpret_cast<const Unit<Config>*>(matrix.data), matrix.rows, matrix.columns / elements,
            matrix.stride / elements};
  }

  /// Those of a place's elements that `inside` has; zeros for the others.
  template <typename T, typename Inside>
  __device__ __forceinline__ static Bits load_inside(const T* from, const Inside& inside) {
    Bits bits = {};
#pragma unroll
    for (int i = 0; i < width_of<sizeof(T)>; ++i) {
      if (inside(i)) set(bits, i, load_pack<1>(from + i)[0]);
    }
    return bits;
  }
  /// Element number `i` of a place in which it is zero.
  template <typename T>
  __device__ __forceinline__ static void set(Bits& bits, int i, T value) {
    if constexpr (sizeof(T) == 2) {
      bits[i / 2] |= u32{__builtin_bit_cast(unsigned short, value)} << i % 2 * 16;
    } else if constexpr (sizeof(T) == 4) {
      bits[i] = __builtin_bit_cast(u32, value);
    } else {
      const u64 both = __builtin_bit_cast(u64, value);
      bits[2 * i] = static_cast<u32>(both);
      bits[2 * i + 1] = static_cast<u32>(both >> 32);
    }
  }

  template <typename Config>
  __device__ __forceinline__ static int place_in_b(int column, int chunk) {
    return place_of<Config::tile_n>(column_place<sizeof(typename Config::Accumulate)>(column), chunk);
  }

  /// Which rows a tile has of an operand that is contiguous along k, who fetches them, and where they go.
  template <typename ConfigOf>
  struct RowsOfA {
    using Config = ConfigOf;
    static constexpr int rows = Config::tile_m;
    static constexpr int first_thread = Shape<Config>::threads_of_b;
    static constexpr int threads = Shape<Config>::threads_of_a;

    __device__ __forceinline__ static Bits& place(Stage<Config>& stage, int row, int chunk) {
      return stage.a[place_of<rows>(row, chunk)];
    }
  };
  template <typename ConfigOf>
  struct ColumnsOfB {
    using Config = ConfigOf;
    static constexpr int rows = Config::tile_n;
    static constexpr int first_thread = 0;
    static constexpr int threads = Shape<Config>::threads_of_b;

    __device__ __forceinline__ static Bits& place(Stage<Config>& stage, int column, int chunk) {
      return stage.b[place_in_b<Config>(column, chunk)];
    }
  };

  /// Packs of such rows.
  template <typename Rows>
  struct PacksAlongK {
    using Config = typename Rows::Config;
    using Element = Unit<Config>;
    static constexpr int width = width_of<sizeof(Element)>;
    static constexpr int depth = depth_of<sizeof(Element)>;
    static constexpr int packs = Rows::rows * chunks;
    static constexpr int count = (packs + Rows::threads - 1) / Rows::threads;

    __device__ __forceinline__ PacksAlongK(const Matrix<const Element>& matrix, i64 first_row)
        : whole_slices(matrix.takes_packs(width) ? matrix.columns / depth : 0), columns_(matrix.columns) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        // Rows beyond the last never reach a result, so that any other does in their place.
        const i64 row = first_row + pack(i) / chunks;
        from_[i] = matrix.data + (row < matrix.rows ? row : matrix.rows - 1) * matrix.stride + pack(i) % chunks * width;
      }
    }

    __device__ __forceinline__ void fetch_whole(i64 slice) {
#pragma unroll
      for (int i = 0; i < count; ++i) held_[i] = platform::load_bits<sizeof(Bits)>(from_[i] + slice * depth);
    }
    __device__ __forceinline__ void fetch_inside(i64 slice) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const i64 left = columns_ - slice * depth - pack(i) % chunks * width;
        held_[i] = load_inside(from_[i] + slice * depth, [&](int element) { return element < left; });
      }
    }
    __device__ __forceinline__ void put(Stage<Config>& stage) const {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        Rows::place(stage, pack(i) / chunks, pack(i) % chunks) = Core<Config>::operand(held_[i]);
      }
    }

    const i64 whole_slices;  // which need no look at where the matrix ends

   private:
    /// Where there are fewer packs than threads have room for, several bring the same one.
    __device__ __forceinline__ static int pack(int i) {
      return (i * Rows::threads + thread_index() - Rows::first_thread) % packs;
    }

    const i64 columns_;
    const Element* from_[count];
    Bits held_[count];
  };

  /// A block of a row-major B of elements of 16 bits, which turns into columns.
  template <typename Config>
  struct BlockOfB {
    using Element = typename Config::Element;
    static_assert(sizeof(Element) >= 2, "elements of 8 bits are contiguous along k");

    __device__ __forceinline__ BlockOfB(const Matrix<const Element>& b, i64 first_column)
        : whole_slices(b.takes_packs(width) ? b.rows / depth : 0), rows_(b.rows), stride_(b.stride) {
      const i64 left = b.columns - (first_column + column());
      const bool beyond = left <= 0 && whole_slices > 0;  // any other columns do in their place
      from_ = b.data + row() * b.stride + (beyond ? b.columns - width : first_column + column());
      columns_ = beyond || left > width ? width : static_cast<int>(left);
    }

    __device__ __forceinline__ void fetch_whole(i64 slice) {
      const Element* const from = from_ + slice * depth * stride_;
#pragma unroll
      for (int i = 0; i < block_rows; ++i) held_[i] = platform::load_bits<sizeof(Bits)>(from + i * stride_);
    }
    __device__ __forceinline__ void fetch_inside(i64 slice) {
      const Element* const from = from_ + slice * depth * stride_;
      const i64 left = rows_ - slice * depth - row();
#pragma unroll
      for (int i = 0; i < block_rows; ++i) {
        held_[i] = load_inside(from + i * stride_, [&](int element) { return i < left && element < columns_; });
      }
    }
    __device__ __forceinline__ void put(Stage<Config>& stage) const {
      const auto& rows = held_;
#pragma unroll
      for (int pair = 0; pair < width / 2; ++pair) {
        put_column(stage, 2 * pair, platform::lower_halves(rows[0][pair], rows[1][pair]),
                   platform::lower_halves(rows[2][pair], rows[3][pair]));
        put_column(stage, 2 * pair + 1, platform::upper_halves(rows[0][pair], rows[1][pair]),
                   platform::upper_halves(rows[2][pair], rows[3][pair]));
      }
    }

    const i64 whole_slices;  // which need no look at where the matrix ends

   private:
    __device__ __forceinline__ static int row() { return block_row<Config::tile_n>(thread_index()); }
    __device__ __forceinline__ static int column() { return block_column<Config::tile_n>(thread_index()); }

    /// Four elements along k of one of the block's columns.
    __device__ __forceinline__ static void put_column(Stage<Config>& stage, int index, u32 first, u32 second) {
      using Column = platform::Bits<8>;
      const int place = place_in_b<Config>(column() + index, row() / width);
      reinterpret_cast<Column*>(&stage.b[place])[row() % width / block_rows] = Column{first, second};
    }

    const i64 rows_;
    const i64 stride_;
    const Element* from_;
    int columns_;  // of the block that are in the matrix
    Bits held_[block_rows];
  };

  /// Squares of a row-major B of wider elements, as many rows of them as columns, each of which becomes a place.
  template <typename Config>
  struct SquaresOfB {
    using Element = typename Config::Element;
    static constexpr int width = width_of<sizeof(Element)>;
    static constexpr int depth = depth_of<sizeof(Element)>;
    static constexpr int words = sizeof(Element) / sizeof(u32);
    static constexpr int across = Config::tile_n / width;
    static constexpr int chunks_at_once = Shape<Config>::threads_of_b / across;
    static constexpr int count = chunks / chunks_at_once;

    __device__ __forceinline__ SquaresOfB(const Matrix<const Element>& b, i64 first_column)
        : whole_slices(b.takes_packs(width) ? b.rows / depth : 0), rows_(b.rows), stride_(b.stride) {
      const i64 left = b.columns - (first_column + column());
      const bool beyond = left <= 0 && whole_slices > 0;  // any other columns do in their place
      from_ = b.data + (beyond ? b.columns - width : first_column + column());
      columns_ = beyond || left > width ? width : static_cast<int>(left);
    }

    __device__ __forceinline__ void fetch_whole(i64 slice) {
      for_each_row([&](int square, int i) {
        held_[square][i] = platform::load_bits<place_bytes>(from_ + (slice * depth + row(square) + i) * stride_);
      });
    }
    __device__ __forceinline__ void fetch_inside(i64 slice) {
      for_each_row([&](int square, int i) {
        const i64 at = slice * depth + row(square) + i;
        held_[square][i] =
            load_inside(from_ + at * stride_, [&](int element) { return at < rows_ && element < columns_; });
      });
    }
    __device__ __forceinline__ void put(Stage<Config>& stage) const {
#pragma unroll
      for (int square = 0; square < count; ++square) {
#pragma unroll
        for (int element = 0; element < width; ++element) {
          Bits along_k;
#pragma unroll
          for (int word = 0; word < 4; ++word) {
            along_k[word] = held_[square][word / words][element * words + word % words];
          }
          stage.b[place_in_b<Config>(column() + element, row(square) / width)] = Core<Config>::operand(along_k);
        }
      }
    }

    const i64 whole_slices;  // which need no look at where the matrix ends

   private:
    __device__ __forceinline__ static int column() { return square_column<sizeof(Element)>(thread_index() % across); }
    __device__ __forceinline__ static int row(int square) {
      return (thread_index() / across + square * chunks_at_once) * width;
    }
    template <typename Body>
    __device__ __forceinline__ static void for_each_row(const Body& body) {
#pragma unroll
      for (int square = 0; square < count; ++square) {
#pragma unroll
        for (int i = 0; i < width; ++i) body(square, i);
      }
    }

    const i64 rows_;
    const i64 stride_;
    const Element* from_;
    int columns_;  // of the squares that are in the matrix
    Bits held_[count][width];
  };

  template <typename Config, bool contiguous_along_k = Config::LayoutB::contiguous_along_k,
            bool wide = (sizeof(typename Config::Element) > 2)>
  struct PartOfB : BlockOfB<Config> {
    using BlockOfB<Config>::BlockOfB;
  };
  template <typename Config>
  struct PartOfB<Config, false, true> : SquaresOfB<Config> {
    using SquaresOfB<Config>::SquaresOfB;
  };
  template <typename Config, bool wide>
  struct PartOfB<Config, true, wide> : PacksAlongK<ColumnsOfB<Config>> {
    using PacksAlongK<ColumnsOfB<Config>>::PacksAlongK;
  };
};

}  // namespace iris::device
