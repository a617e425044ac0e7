#pragma once

#include <iris/device/atomics.hpp>
#include <iris/device/main_loop/tiles.hpp>
#include <iris/device/platform/hopper.hpp>

/// Operands of the main loop of sm_90a, and how rows of A come from other ranks: already cut into the stages in which
/// that loop reads them, so that each travels, and is read, in one piece.
namespace iris::device {

/// A stage of A has stage_rows rows of tile_k elements, of so many bytes, swizzled in groups of eight rows.
inline constexpr int staged_row_bytes = 128;

/// A matrix as the tensor memory accelerator reads it.
template <typename Config>
struct StagedOperand {
  const TensorMap* map;                              // none of gathered rows
  const typename Config::Element* stages = nullptr;  // of gathered rows
  i64 columns;
  i32 first_row = 0;

  /// The rows from `row` on. The last tile may read rows beyond the last, which never reach a result.
  __device__ __forceinline__ StagedOperand rows(i64 row, i64 /*count*/) const {
    return {map, stages, columns, first_row + static_cast<i32>(row)};
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
  __device__ __forceinline__ StagedOperand<Config> of(i32 rank) const {
    return {.map = nullptr, .stages = data + rank * slot(), .columns = k};
  }
};

/// Slices in which a chunk comes.
inline constexpr i32 stage_slices = 4;

/// Stages of one of so many slices.
template <typename Config>
__device__ __forceinline__ Range stages_of_slice(i64 k, i32 slice, i32 slices) {
  const i64 stages = divide_up(k, Config::tile_k);
  return chunk_of({0, stages}, slice, divide_up(stages, slices));
}

/// A block that sends this rank's rows to the others. One thread copies stages through a ring in shared memory: some
/// copies are on their way in, the others on their way out. Its few instructions a copy decide how much a block
/// carries. Another warp tells what has come, since a thread that releases waits for all copies of its own.
template <typename Config>
struct StagePush {
  using Element = typename Config::Element;

  struct Ring {
    static constexpr int slots = 12;
    static constexpr int leaving = 4;  ///< slots whose copies to other ranks are under way
    struct alignas(1024) Slot {
      Element data[GatheredStages<Config>::stage_elements];
    };
    Slot slot[slots];
    u64 full[slots];  ///< the slot's copy has come
    i32 delivered;    ///< slices, to all other ranks
  };

  template <typename Tell>
  __device__ __forceinline__ static void run(Ring& ring, const Context& context, const StagedOperand<Config>& own,
                                             const GatheredStages<Config>& gathered, i64 block, i64 blocks,
                                             const Tell& tell) {
    if (thread_index() == 0) {
      for (u64& full : ring.full) platform::init_barrier(full, 1);
      platform::publish_barriers();
      ring.delivered = 0;
    }
    sync_block();
    const Walk begin = {.chunks = static_cast<i32>(gathered.chunks()),
                        .stages = static_cast<i32>(gathered.stages_of_chunk()),
                        .first = static_cast<i32>(block),
                        .stride = static_cast<i32>(blocks)};
    if (thread_index() == 0) {
      copy(ring, context, own, gathered, begin);
    } else if (thread_index() / 32 == 1) {
      tell_delivered(ring, begin.chunks * stage_slices, tell, {thread_index() % 32, 32});
    }
    sync_block();
  }

 private:
  /// A walk through a block's stages: of each chunk its first one and every `stride`-th after it. For each stage a
  /// thread takes a step of three walks, so that steps are short, with constants where the shape is known.
  struct Walk {
    i32 chunks;
    i32 stages;  // of a chunk
    i32 first;
    i32 stride;
    i32 chunk = 0;
    i32 stage = first;
    i32 slot = 0;
    u32 parity = 0;

    __device__ __forceinline__ bool ended() const { return chunk == chunks || first >= stages; }
    __device__ __forceinline__ i64 number() const { return i64{chunk} * stages + stage; }
    /// Slices that have been passed, of all chunks.
    __device__ __forceinline__ i32 slices() const {
      const i32 of_chunk = stage / static_cast<i32>(divide_up(stages, stage_slices));
      return chunk * stage_slices + (of_chunk < stage_slices ? of_chunk : stage_slices);
    }
    __device__ __forceinline__ void advance() {
      stage += stride;
      if (stage >= stages) {
        stage = first;
        ++chunk;
      }
      if (++slot == Ring::slots) {
        slot = 0;
        parity ^= 1;
      }
    }
  };

  __device__ __forceinline__ static void copy(Ring& ring, const Context& context, const StagedOperand<Config>& own,
                                              const GatheredStages<Config>& gathered, const Walk& begin) {
    Element* const to = gathered.data + context.rank * gathered.slot();
    Walk in = begin;
    Walk out = begin;
    Walk done = begin;
    const auto copy_in = [&] {
      static_assert(Config::box_rows == Config::stage_rows, "a stage comes in one copy");
      auto& slot = ring.slot[in.slot].data;
      platform::arrive_and_expect(ring.full[in.slot], sizeof(slot));
      platform::copy_box(slot, own.map, in.stage * Config::tile_k, own.first_row + in.chunk * Config::tile_m,
                         ring.full[in.slot]);
      in.advance();
    };
    const auto copy_out = [&] {
      const i64 rows = round_up(rows_of_tile<Config>(gathered.rows, i64{out.chunk} * Config::tile_m), 8);
      Element* const stage = to + out.number() * GatheredStages<Config>::stage_elements;
      platform::wait_barrier(ring.full[out.slot], out.parity);
#pragma unroll
      for (i32 offset = 1; offset < Config::world; ++offset) {
        platform::copy_out(on_rank(context, stage, peer_at<Config::world>(context, offset)), ring.slot[out.slot].data,
                           static_cast<u32>(rows * staged_row_bytes));
      }
      platform::commit_copies_out();
      out.advance();
    };
    for (int slot = 0; slot < Ring::slots - Ring::leaving && !in.ended(); ++slot) copy_in();
    for (int sent = 1; !out.ended(); ++sent) {
      copy_out();
      platform::wait_copies_out_read<Ring::leaving>();
      if (!in.ended()) copy_in();
      if (sent <= Ring::leaving) continue;
      const i32 before = done.slices();
      done.advance();
      if (done.slices() == before) continue;
      platform::wait_copies_out<Ring::leaving>();
      atomic_store<Order::release, Scope::block>(&ring.delivered, done.slices());
    }
    platform::wait_copies_out();
    atomic_store<Order::release, Scope::block>(&ring.delivered, begin.chunks * stage_slices);
  }

  template <typename Tell>
  __device__ __forceinline__ static void tell_delivered(const Ring& ring, i32 slices, const Tell& tell,
                                                        ThreadGroup lanes) {
    for (i32 told = 0; told < slices;) {
      const i32 delivered = atomic_load<Order::acquire, Scope::block>(&ring.delivered);
      if (delivered > told) tell(delivered - 1, lanes);
      told = delivered;
    }
  }
};

/// A block that sends rows beside its products: one thread, in pieces of box_rows rows of a stage, of which one comes
/// while another leaves; more would hold up the copies that fill the stages of the products. All blocks together fill
/// the links. A few of them send each slice, so that whoever waits for it has few flags to look at.
template <typename Config>
struct StagePushBeside {
  using Element = typename Config::Element;
  static constexpr i32 senders_of_slice = Config::blocks < 16 ? Config::blocks : 16;
  static constexpr i32 groups = Config::blocks / senders_of_slice;
  static constexpr i64 piece_elements = i64{Config::box_rows} * Config::tile_k;

  struct Pieces {
    struct alignas(1024) Slot {
      Element data[piece_elements];
    };
    Slot slot[2];
  };

  __device__ __forceinline__ static Senders senders_of(i64 slice) {
    return {slice % groups * senders_of_slice, senders_of_slice, static_cast<u32>(slice / groups)};
  }

  template <typename Tell>
  __device__ static void run(Pieces& pieces, u64 (&fetched)[2], const Context& context,
                             const StagedOperand<Config>& own, const GatheredStages<Config>& gathered,
                             const Tell& tell) {
    if (block_index() / senders_of_slice >= groups) return;
    Element* const to = gathered.data + context.rank * gathered.slot();
    Walk in(gathered);
    const auto fetch = [&] {
      if (in.ended()) return;
      platform::arrive_and_expect(fetched[in.slot], sizeof(pieces.slot[0]));
      platform::copy_box(pieces.slot[in.slot].data, own.map, in.stage * Config::tile_k,
                         own.first_row + in.chunk() * Config::tile_m + in.row, fetched[in.slot]);
      in.advance();
    };
    u32 told = 0;
    const auto tell_before = [&](i32 slice) {
      for (; told < static_cast<u32>((slice - group()) / groups); ++told) tell(told, {0, 1});
    };
    fetch();
    Walk out(gathered);
    while (!out.ended()) {
      platform::wait_barrier(fetched[out.slot], out.parity);
      Element* const stage =
          to + (i64{out.chunk()} * gathered.stages_of_chunk() + out.stage) * GatheredStages<Config>::stage_elements;
#pragma unroll
      for (i32 offset = 1; offset < Config::world; ++offset) {
        platform::copy_out(on_rank(context, stage + out.row * Config::tile_k, peer_at<Config::world>(context, offset)),
                           pieces.slot[out.slot].data, static_cast<u32>(out.rows_of_piece() * staged_row_bytes));
      }
      platform::commit_copies_out();
      platform::wait_copies_out_read<1>();
      fetch();
      const i32 slice = out.slice;
      out.advance();
      if (out.slice == slice) continue;
      platform::wait_copies_out();
      tell_before(out.slice);
    }
    tell_before(out.slice);
  }

 private:
  __device__ __forceinline__ static i32 group() { return block_index() / senders_of_slice; }
  __device__ __forceinline__ static i32 member() { return block_index() % senders_of_slice; }

  /// A walk through the pieces that the block sends: of every slice of its group each stage that is its own.
  struct Walk {
    const GatheredStages<Config>& gathered;
    i32 slice = group() - groups;
    i32 stage = 0;
    i32 stages = 0;  // where the slice ends
    i32 row = 0;
    i32 slot = 0;
    u32 parity = 0;

    __device__ __forceinline__ explicit Walk(const GatheredStages<Config>& of) : gathered(of) { enter_slice(); }
    __device__ __forceinline__ bool ended() const { return slice >= gathered.chunks() * stage_slices; }
    __device__ __forceinline__ i32 chunk() const { return slice / stage_slices; }
    __device__ __forceinline__ i32 rows() const {  // of the chunk
      return static_cast<i32>(round_up(rows_of_tile<Config>(gathered.rows, i64{chunk()} * Config::tile_m), 8));
    }
    __device__ __forceinline__ i32 rows_of_piece() const {
      const i32 left = rows() - row;
      return left < Config::box_rows ? left : Config::box_rows;
    }
    __device__ __forceinline__ void enter_slice() {
      for (slice += groups; !ended(); slice += groups) {
        const Range range = stages_of_slice<Config>(gathered.k, slice % stage_slices, stage_slices);
        stage = static_cast<i32>(range.begin) + member();
        stages = static_cast<i32>(range.end);
        if (stage < stages) return;
      }
    }
    __device__ __forceinline__ void advance() {
      row += Config::box_rows;
      if (row >= rows()) {
        row = 0;
        stage += senders_of_slice;
        if (stage >= stages) enter_slice();
      }
      slot ^= 1;
      if (slot == 0) parity ^= 1;
    }
  };
};

}  // namespace iris::device
