#include <iris/device/numeric.hpp>
#include <iris/device/partition.hpp>
#include <iris/device/rma.hpp>
#include <iris/device/signal.hpp>

using namespace iris::device;

// The rows of all ranks, one below the other, are cut into bands, one for each block. A band waits for the two beside
// it alone: no barrier, neither of the ranks nor of the grid. No rank has fewer rows than blocks.
struct Band {
  i32 rank;
  i32 block;
  bool exists;
};

template <typename Config>
__device__ Band band_at(const Context& context, i32 distance) {
  const i32 band = context.rank * Config::blocks + block_index() + distance;
  return {band / Config::blocks, band % Config::blocks, band >= 0 && band < Config::world * Config::blocks};
}

// Tells a neighbour that this band has come to `step`. Each band has two flags: what the band above writes, and what
// the one below does.
template <typename Config>
__device__ void tell(const Launch<Config>& launch, i64 flags, const Band& band, i32 side, u32 step) {
  if (band.exists && thread_index() == 0) signal_release(launch, flags + 2 * band.block + side, step, band.rank);
}

template <typename Config>
__device__ bool wait_for(const Launch<Config>& launch, i64 flags, const Band& band, i32 side, u32 step) {
  return !band.exists || block_wait_acquire(launch, flags + 2 * block_index() + side, step, band.rank, Wait::step);
}

// Gives the band's first and last row to the bands of other ranks that need them, in the row beyond their own.
template <typename Config>
__device__ void push(const Context& context, f32* rows, const Range& own, const Band& above, const Band& below, i64 m,
                     i64 n) {
  for (i64 column = thread_index(); column < n; column += Config::threads) {
    if (above.exists && above.rank != context.rank)
      store(context, rows + (m + 1) * n + column, rows[(own.begin + 1) * n + column], above.rank);
    if (below.exists && below.rank != context.rank)
      store(context, rows + column, rows[own.end * n + column], below.rank);
  }
}

/// Jacobi's iteration on an image whose rows are divided among the ranks: in each step every pixel becomes the mean of
/// the four around it; at the edges of the whole image a pixel stands in for what is beyond. Sums and steps are in f32.
/// \param image this rank's rows
/// \param relaxed the same rows after the last step
template <typename Config>
__device__ void relax(const Context& context, const typename Config::Element* image, typename Config::Element* relaxed,
                      i64 m, i64 n) {
  using Element = typename Config::Element;
  static_assert(Config::steps > 0);
  Launch<Config> launch(context);
  const i64 own_flags = flags<2 * Config::blocks>(launch);
  f32* const images = workspace<f32>(launch, 2 * (m + 2) * n);
  const Range rows = shard_of(m, Config::blocks, block_index(), 1);
  const Band above = band_at<Config>(context, -1);
  const Band below = band_at<Config>(context, 1);

  f32* now = images;
  f32* next = images + (m + 2) * n;
  for (i64 i = rows.begin * n + thread_index(); i < rows.end * n; i += Config::threads)
    now[n + i] = convert<f32>(image[i]);
  for (i32 step = 0; step < Config::steps; ++step) {
    sync_block();
    push<Config>(context, now, rows, above, below, m, n);
    sync_block_after_stores();
    tell(launch, own_flags, above, 1, step);
    tell(launch, own_flags, below, 0, step);
    if (!wait_for(launch, own_flags, above, 0, step) || !wait_for(launch, own_flags, below, 1, step)) return;

    for (i64 i = rows.begin * n + thread_index(); i < rows.end * n; i += Config::threads) {
      const f32* const pixel = now + n + i;
      const i64 column = i % n;
      const f32 up = i < n && !above.exists ? pixel[0] : pixel[-n];
      const f32 down = i >= (m - 1) * n && !below.exists ? pixel[0] : pixel[n];
      const f32 left = column == 0 ? pixel[0] : pixel[-1];
      const f32 right = column == n - 1 ? pixel[0] : pixel[1];
      next[n + i] = 0.25f * (up + down + left + right);
    }
    f32* const done = now;
    now = next;
    next = done;
  }
  for (i64 i = rows.begin * n + thread_index(); i < rows.end * n; i += Config::threads)
    relaxed[i] = convert<Element>(now[n + i]);
}
