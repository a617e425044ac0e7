#pragma once

#include <iris/device/atomics.hpp>
#include <iris/device/main_loop/wgmma_layout.hpp>
#include <iris/device/platform/hopper.hpp>
#include <iris/device/rma.hpp>

/// How rows of A come from other ranks to the main loop of sm_90a.
namespace iris::device {

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
    const Walk begin(gathered, block, blocks);
    if (thread_index() == 0) {
      copy(ring, context, own, gathered, begin);
    } else if (thread_index() / 32 == 1) {
      tell_delivered(ring, begin.slices(), tell, {thread_index() % 32, 32});
    }
    sync_block();
  }

 private:
  using Walk = StageWalk<Config, Ring::slots>;

  __device__ __forceinline__ static void copy(Ring& ring, const Context& context, const StagedOperand<Config>& own,
                                              const GatheredStages<Config>& gathered, const Walk& begin) {
    Element* const to = gathered.data + context.rank * gathered.slot();
    auto in = begin;
    auto out = begin;
    auto done = begin;
    const auto copy_in = [&] {
      static_assert(Config::box_rows == Config::stage_rows, "a stage comes in one copy");
      const i32 row = own.first_row + in.chunk * Config::tile_m;
      const auto box = own.box_at(row);
      platform::arrive_and_expect(ring.full[in.slot], box.rows * staged_row_bytes);
      platform::copy_box(ring.slot[in.slot].data, box.map, in.stage * Config::tile_k, row, ring.full[in.slot]);
      in.advance();
    };
    const auto copy_out = [&] {
      const i64 rows = round_up(rows_of_tile<Config>(gathered.rows, i64{out.chunk} * Config::tile_m), 8);
      Element* const stage = to + out.number() * GatheredStages<Config>::stage_elements;
      platform::wait_barrier(ring.full[out.slot], out.parity);
#pragma unroll
      for (i32 offset = 1; offset < Config::world; ++offset) {
        platform::copy_out(heap_on_rank(context, stage, peer_at<Config::world>(context, offset)),
                           ring.slot[out.slot].data, static_cast<u32>(rows * staged_row_bytes));
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
      const i32 before = done.whole;
      done.advance();
      if (done.whole == before) continue;  // those of a band are multiplied at one time
      platform::wait_copies_out<Ring::leaving>();
      atomic_xchg<Order::release, Scope::block>(&ring.delivered, done.whole);
    }
    platform::wait_copies_out();
    atomic_xchg<Order::release, Scope::block>(&ring.delivered, begin.slices());
  }

  template <typename Tell>
  __device__ __forceinline__ static void tell_delivered(Ring& ring, i32 slices, const Tell& tell, ThreadGroup lanes) {
    for (i32 told = 0; told < slices;) {
      // Nothing is added: racecheck takes atomic loads for plain ones.
      const i32 delivered = atomic_add<Order::acquire, Scope::block>(&ring.delivered, 0);
      if (delivered > told) tell(delivered - 1, lanes);
      told = delivered;
    }
  }
};

/// A block that sends rows beside its products: one thread, in pieces of box_rows rows of a stage, of which one comes
/// while another leaves; more would hold up the copies that fill the stages of the products.
template <typename Config>
struct StagePushBeside {
  using Element = typename Config::Element;
  static constexpr i64 piece_elements = i64{Config::box_rows} * Config::tile_k;

  struct Pieces {
    struct alignas(1024) Slot {
      Element data[piece_elements];
    };
    Slot slot[2];
  };

  template <typename Tell>
  __device__ static void run(Pieces& pieces, u64 (&fetched)[2], const Context& context,
                             const StagedOperand<Config>& own, const GatheredStages<Config>& gathered,
                             const Tell& tell) {
    if constexpr (Config::world == 1) return;
    Element* const to = gathered.data + context.rank * gathered.slot();
    PieceWalk<Config> in(gathered, block_index());
    const auto fetch = [&] {
      if (in.ended()) return;
      const i32 row = own.first_row + in.chunk * Config::tile_m + in.row;
      const auto box = own.box_at(row);
      platform::arrive_and_expect(fetched[in.slot], box.rows * staged_row_bytes);
      platform::copy_box(pieces.slot[in.slot].data, box.map, in.stage * Config::tile_k, row, fetched[in.slot]);
      in.advance();
    };
    fetch();
    PieceWalk<Config> out(gathered, block_index());
    u32 told = 0;
    const auto tell_passed = [&] {
      for (; told < out.passed(); ++told) tell(told, {0, 1});
    };
    while (!out.ended()) {
      platform::wait_barrier(fetched[out.slot], out.parity);
      Element* const stage = to + out.number() * GatheredStages<Config>::stage_elements;
#pragma unroll
      for (i32 offset = 1; offset < Config::world; ++offset) {
        platform::copy_out(
            heap_on_rank(context, stage + out.row * Config::tile_k, peer_at<Config::world>(context, offset)),
            pieces.slot[out.slot].data, static_cast<u32>(out.rows_of_piece() * staged_row_bytes));
      }
      platform::commit_copies_out();
      platform::wait_copies_out_read<1>();
      fetch();
      const i32 slice = out.slice;
      out.advance();
      if (out.slice == slice) continue;
      platform::wait_copies_out();
      tell_passed();
    }
    tell_passed();
  }
};

/// Threads that send this rank's rows of a slice to all ranks, itself among them, whose rows they are one matrix with:
/// stage by stage, so that neighbours write where another's places end. Of the last stage what is beyond k are zeros.
template <typename Config>
struct SlicePush {
  using Element = typename Config::Element;

  __device__ __forceinline__ static void run(const Context& context, const Matrix<const Element>& own,
                                             const GatheredStages<Config>& gathered, i64 first_row, const Range& stages,
                                             const ThreadGroup& group) {
    const auto places = heap_on_peers<Config::world>(context, gathered.data);
    const i64 rows_of_stages = (stages.end - stages.begin) * own.rows;
    for_each_pack_of_rows<Config::vector, Config::unroll>(
        group, rows_of_stages, i64{Config::tile_k}, [&]<int width, int count>(const RowPacks<width, count>& packs) {
          Packs<Element, width, count> values = {};
          PackPlaces<width, count> at;
#pragma unroll
          for (int i = 0; i < count; ++i) {
            const i64 stage = static_cast<u32>(packs.row[i]) / static_cast<u32>(own.rows);
            const i64 row = packs.row[i] - stage * own.rows;
            const i64 column = (stages.begin + stage) * Config::tile_k + packs.column[i];
            if (column < own.columns) values.packs[i] = load_pack<width>(own.data + row * own.stride + column);
            if constexpr (sizeof(Element) == sizeof(tf32)) {  // as tensor copies do
#pragma unroll
              for (int j = 0; j < width; ++j) values.packs[i][j].bits = rounded_to_tf32(values.packs[i][j].bits);
            }
            at.begin[i] = gathered.index(first_row + row, column);
          }
#pragma unroll
          for (i32 offset = 0; offset < Config::world; ++offset) store(places[offset], at, values);
        });
  }
};

}  // namespace iris::device
