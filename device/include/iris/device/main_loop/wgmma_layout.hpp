#pragma once

#include <iris/device/main_loop/tiles.hpp>

/// What lies where in the main loop of sm_90a, and which block sends what of the rows that travel: already cut into the
/// stages in which that loop reads them, so that each travels, and is read, in one piece.
namespace iris::device {

/// Of one instruction.
inline constexpr int rows_of_warpgroup = 64;

/// A stage of A has stage_rows rows of tile_k elements, of so many bytes, swizzled in groups of eight rows.
inline constexpr int staged_row_bytes = 128;

/// Whether one warpgroup makes whole tiles, transposed: 64 columns of B by the rows of A. For two, each with half of
/// the rows, all columns are read twice from shared memory, which narrow tiles wait for: measured on an H100, it takes
/// less time by a tenth or so.
template <typename Config>
inline constexpr bool multiplies_columns =
    Config::tile_n == 64 && Config::stage_rows == 2 * rows_of_warpgroup && Config::LayoutB::contiguous_along_k &&
    sizeof(typename Config::Element) == 2 && sizeof(typename Config::Result) == 2;

/// A matrix in boxes, as the host has prepared them for the tensor memory accelerator.
struct BoxMaps {
  const TensorMap* box = nullptr;
  /// Of the last box of the rows, where fewer are left than a box has: it holds these, in whole groups of eight. Rows
  /// that do not exist take the accelerator longer than those that do: measured on an H100, over twice as long.
  const TensorMap* last = nullptr;
};

/// A matrix as the tensor memory accelerator reads it.
template <typename Config>
struct StagedOperand {
  BoxMaps maps;                                      // none of gathered rows
  const typename Config::Element* stages = nullptr;  // of gathered rows
  i64 end;                                           // of its rows
  i64 columns;
  i32 first_row = 0;
  i32 first_stage = 0;  // along k, of this matrix and the one that it is multiplied by
  Scales<typename Config::Element> scales = {};

  /// So many rows from `row` on. Where the maps have a last box, it is theirs, too.
  __device__ __forceinline__ StagedOperand rows(i64 row, i64 count) const {
    const i32 begin = first_row + static_cast<i32>(row);
    return {maps, stages, begin + count, columns, begin, first_stage, scales};
  }

  /// Of A, what one copy brings.
  struct Box {
    const TensorMap* map;
    i32 rows;
  };
  /// The box that begins at `row`, counted from the matrix's first one. It may bring rows beyond the last, or what was
  /// there before stays in their place: they never reach a result.
  __device__ __forceinline__ Box box_at(i64 row) const {
    const i64 left = round_up(end - row, 8);
    if (maps.last == nullptr || left >= Config::box_rows) return {maps.box, Config::box_rows};
    return {maps.last, static_cast<i32>(left)};
  }
};

/// Rows of A of every rank, chunk by chunk, and in each along k. Of the last chunk, rows that do not exist are missing.
template <typename Config>
struct GatheredStages {
  using Element = typename Config::Element;
  static constexpr i64 stage_elements = Config::stage_rows * Config::tile_k;
  Element* data;
  i64 rows;
  i64 k;

  __device__ __forceinline__ i64 stages_of_chunk() const { return divide_up(k, Config::tile_k); }
  __device__ __forceinline__ i64 chunks() const { return divide_up(rows, Config::tile_m); }
  __device__ __forceinline__ i64 slot() const { return chunks() * stages_of_chunk() * stage_elements; }
  /// Where an element lies, of the first slot. Accesses of 16 bytes stay together.
  __device__ __forceinline__ i64 index(i64 row, i64 column) const {
    constexpr i64 width = 16 / sizeof(Element);
    const i64 stage = row / Config::tile_m * stages_of_chunk() + column / Config::tile_k;
    const i64 within = column % Config::tile_k;
    const i64 access = within / width ^ row % 8;
    return stage * stage_elements + row % Config::tile_m * Config::tile_k + access * width + within % width;
  }
  __device__ __forceinline__ StagedOperand<Config> of(i32 rank) const {
    return {.maps = {}, .stages = data + rank * slot(), .end = rows, .columns = k};
  }
};

/// Where an element of a tile is in its image: in rows of tile_n, whose accesses of 16 bytes are permuted, so that
/// those of neighbouring rows and the same columns lie in different banks of shared memory.
template <typename Config>
__device__ __forceinline__ int image_offset(int row, int column) {
  constexpr int size = sizeof(typename Config::Result);
  constexpr int width = 16 / size;
  constexpr int permuted = Config::tile_n * size % 128 == 0 ? 8 : 4;
  const int permutation = row * (size / 2) % permuted;
  return row * Config::tile_n + (column ^ (permutation * width));
}

/// The same of packs.
template <typename Config, int width_, int count_>
struct ImageIndex {
  static constexpr int width = width_;
  static constexpr int count = count_;

  PacksOfTile<width, count> packs;

  __device__ __forceinline__ i64 operator[](int pack) const {
    return image_offset<Config>(packs.row + pack * packs.step, packs.column);
  }
};

/// Slices in which a chunk comes.
inline constexpr i32 stage_slices = 8;

/// A walk through the stages that one of several blocks sends, in the order of their slices: each of as many, in the
/// next slot of a ring. Few steps, with constants where the shape is known.
template <typename Config, int slots>
struct StageWalk {
  i32 chunks;
  i32 stages;  // of a chunk
  i32 stride;
  i32 band = 0;  // its first chunk
  i32 chunk = 0;
  i32 slice = 0;
  i32 passed = 0;  ///< slices, of all chunks
  i32 whole = 0;   ///< as many as had been when all chunks of the band had last come equally far
  i32 stage;       ///< of the chunk
  i32 end;         // of the slice
  i32 slot = 0;
  u32 parity = 0;

  __device__ __forceinline__ StageWalk(const GatheredStages<Config>& gathered, i64 block, i64 blocks)
      : chunks(static_cast<i32>(gathered.chunks())),
        stages(static_cast<i32>(gathered.stages_of_chunk())),
        stride(static_cast<i32>(blocks)),
        stage(static_cast<i32>(block)),
        end(static_cast<i32>(slice_of_stages(stages, 0, stage_slices).end)) {
    enter_slices();
  }

  __device__ __forceinline__ i32 slices() const { return chunks * stage_slices; }
  __device__ __forceinline__ bool ended() const { return passed == slices(); }
  __device__ __forceinline__ i64 number() const { return i64{chunk} * stages + stage; }
  __device__ __forceinline__ void advance() {
    stage += stride;
    enter_slices();
    if (++slot == slots) {
      slot = 0;
      parity ^= 1;
    }
  }

 private:
  /// Until one has the stage: what is beyond the end of a slice is counted from the begin of the next.
  __device__ __forceinline__ void enter_slices() {
    while (!ended() && stage >= end) {
      enter_next_slice();
      const Range range = slice_of_stages(stages, slice, stage_slices);
      stage += static_cast<i32>(range.begin) - end;
      end = static_cast<i32>(range.end);
    }
  }
  __device__ __forceinline__ void enter_next_slice() {
    ++passed;
    const i32 after_band = band + Config::tile_band < chunks ? band + Config::tile_band : chunks;
    if (++chunk < after_band) return;
    if (++slice == stage_slices) {
      slice = 0;
      band = after_band;
    }
    chunk = band;
    whole = passed;
  }
};

/// Who sends what where all blocks of the grid send rows beside their products. A few blocks send each slice, so that
/// whoever waits for it has few flags to look at; the groups that they form take the slices in turn.
template <typename Config>
struct SlicesOfBlocks {
  static constexpr i32 groups = static_cast<i32>(divide_up(Config::blocks, 16));
  static constexpr i32 senders = Config::blocks / groups;  // of a slice

  __device__ __forceinline__ static Senders senders_of(i64 slice) {
    return {slice % groups * senders, senders, static_cast<u32>(slice / groups)};
  }
};

/// A walk through the pieces, box_rows rows of a stage, that a block sends beside its products: of every slice of its
/// group each stage that is its own, in two slots in turn.
template <typename Config>
struct PieceWalk {
  using Blocks = SlicesOfBlocks<Config>;

  GatheredStages<Config> gathered;
  i32 group;
  i32 member;
  i32 slice;  // its number, of all chunks'
  i32 chunk = 0;
  i32 stage = 0;   // of the chunk
  i32 stages = 0;  // where the slice ends
  i32 row = 0;
  i32 slot = 0;
  u32 parity = 0;

  __device__ __forceinline__ PieceWalk(const GatheredStages<Config>& of, i32 block)
      : gathered(of), group(block / Blocks::senders), member(block % Blocks::senders), slice(group - Blocks::groups) {
    if (group >= Blocks::groups) slice = slices();  // a block too many: it sends nothing
    enter_slice();
  }

  __device__ __forceinline__ i32 slices() const { return static_cast<i32>(gathered.chunks()) * stage_slices; }
  __device__ __forceinline__ bool ended() const { return slice >= slices(); }
  /// Slices of the group that have been passed.
  __device__ __forceinline__ u32 passed() const {
    return group < Blocks::groups ? static_cast<u32>((slice - group) / Blocks::groups) : 0;
  }
  /// The stage's place among all of the rank.
  __device__ __forceinline__ i64 number() const { return chunk * gathered.stages_of_chunk() + stage; }
  __device__ __forceinline__ i32 rows_of_chunk() const {
    return static_cast<i32>(round_up(rows_of_tile<Config>(gathered.rows, i64{chunk} * Config::tile_m), 8));
  }
  __device__ __forceinline__ i32 rows_of_piece() const {
    const i32 left = rows_of_chunk() - row;
    return left < Config::box_rows ? left : Config::box_rows;
  }
  __device__ __forceinline__ void enter_slice() {
    for (slice += Blocks::groups; !ended(); slice += Blocks::groups) {
      const auto at = SliceOrder<Config>{gathered.chunks(), stage_slices}.at(slice);
      const Range range = stages_of_slice<Config>(gathered.k, at.slice, stage_slices);
      chunk = static_cast<i32>(at.chunk);
      stage = static_cast<i32>(range.begin) + member;
      stages = static_cast<i32>(range.end);
      if (stage < stages) return;
    }
  }
  __device__ __forceinline__ void advance() {
    row += Config::box_rows;
    if (row >= rows_of_chunk()) {
      row = 0;
      stage += Blocks::senders;
      if (stage >= stages) enter_slice();
    }
    slot ^= 1;
    if (slot == 0) parity ^= 1;
  }
};

}  // namespace iris::device
