#include "generator/plan/gathering_times.hpp"

#include <algorithm>
#include <vector>

namespace irisgen {
namespace {

/// In µs after the launch, when the first and the last of what a tile reads is there.
struct Arrival {
  double first_us;
  double last_us;
};

/// The rows of the other ranks, of each as many.
struct ArrivingRows {
  std::int64_t others;
  std::int64_t chunks;    ///< of tile_m rows, of each
  std::int64_t across;    ///< tiles of a chunk
  std::int64_t together;  ///< chunks of each that come at one time
  bool in_turn;           ///< one rank after another, rather than all at once
  double first_share;     ///< of the time for these, until the first slice has come
  double begin_us;
  double chunk_us;
  double least_us;  ///< for those that come at one time

  /// Of so many chunks of each.
  double us_of(std::int64_t count) const {
    const double least = static_cast<double>(divide_up(count, together)) * least_us;
    return std::max(static_cast<double>(others * count) * chunk_us, least);
  }
  double last_us() const { return begin_us + us_of(chunks); }

  /// Of the tile number `number` of theirs.
  Arrival of(std::int64_t number) const {
    const std::int64_t before = number / (together * across * others) * together;
    const std::int64_t height = std::min(together, chunks - before);
    const double begin = begin_us + us_of(before);
    if (in_turn) {
      const std::int64_t rank = (number - before * across * others) / (height * across);
      const double last = begin + static_cast<double>((rank + 1) * height) * chunk_us;
      return {last, last};
    }
    const double all_us = us_of(height);
    return {begin + first_share * all_us, begin + all_us};
  }
};

/// Bytes per nanosecond that a rank sends, measured on two H200s and on four: blocks that push beside products do not
/// fill the links, and less where each sends and multiplies.
double sending_gbs(const Problem& problem, const Target& target, const Products& products, std::int64_t comm_blocks,
                   std::int64_t blocks) {
  constexpr double block_gbs = 41;
  constexpr double block_gbs_beside = 4;
  constexpr double share_of_links_beside = 0.75;
  const double share_of_links = problem.world > 2 ? 0.85 : 0.8;
  if (products.by_copy_engine) return target.rates.copy_engine_gbs;
  if (products.sends_beside)
    return std::min(target.rates.link_gbs * share_of_links_beside, static_cast<double>(blocks) * block_gbs_beside);
  return std::min(target.rates.link_gbs * share_of_links, static_cast<double>(comm_blocks) * block_gbs);
}

constexpr double longer_beside = 1.08;  // measured on H200s: what sends and what multiplies in one block

/// How much longer products take that power holds back, beside what sends operands for such a share of the time;
/// measured on four H200s.
double longer_of_power(const Products& products, double share) {
  if (products.by_copy_engine) return 1;
  return products.sends_beside ? longer_beside : 1 + 0.075 * share;
}

}  // namespace

std::int64_t arriving_band(std::int64_t columns, std::int64_t tile_n, int parts, std::int64_t highest,
                           std::int64_t blocks) {
  // Where chunks come one after another, products wait for them though links could bring them sooner: on four H100s two
  // at a time took 1 to 28 % less than one, wherever that was measured.
  constexpr std::int64_t lowest = 2;
  const std::int64_t in_a_row = std::max<std::int64_t>(1, divide_up(columns, tile_n)) * parts;
  const std::int64_t most = std::max<std::int64_t>(1, highest / parts);
  return std::clamp(blocks / in_a_row, std::min(lowest, most), most);
}

double gathering_us(const FastLoop& loop, const Problem& problem, const Target& target, const Products& products,
                    std::int64_t comm_blocks, const Multiplying& multiplying) {
  // Slices in which this loop takes what blocks push, and, where all blocks do, how many of these come together.
  constexpr double slices = 8;
  constexpr double slice_us = 3.5;    // measured on four H200s: to send and tell of one, however short
  constexpr double telling_us = 2.2;  // measured on two and on four: of one alone that blocks have sent
  constexpr double together_beside = 3.2;
  constexpr std::int64_t most_turns = 256;  // gone through tile by tile; in the others nobody waits, or all do
  const bool in_slices = loop.main_loop == MainLoop::wgmma && !products.by_copy_engine;
  const Tiles& tiles = multiplying.tiles;
  const std::int64_t blocks = multiplying.blocks;

  const std::int64_t columns = static_length(problem, products.columns).value();
  const std::int64_t chunks = divide_up(static_length(problem, products.rows).value(), tiles.m);
  const std::int64_t others = std::max(1, problem.world - 1);
  const std::int64_t band =
      arriving_band(columns, tiles.n, std::max(1, products.parts), loop.tiles.front().band, target.compute_units);
  const double gbs = sending_gbs(problem, target, products, comm_blocks, blocks);
  const double chunk_us =
      products.sent_bytes / static_cast<double>(others * std::max<std::int64_t>(1, chunks)) / gbs / 1e3;
  const double of_slices_us = chunks > 1 || products.sends_beside
                                  ? slices * slice_us
                                  : slices * telling_us + static_cast<double>(others) * chunk_us;
  const ArrivingRows arriving = {
      .others = others,
      .chunks = chunks,
      .across = divide_up(columns, tiles.n),
      .together =
          products.by_copy_engine ? std::max<std::int64_t>(1, divide_up(chunks * others, products.copies)) : band,
      .in_turn = products.by_copy_engine,
      .first_share = !in_slices ? 1 : (products.sends_beside ? together_beside : 1) / slices,
      .begin_us = products.by_copy_engine ? 2 * target.rates.copy_us : 0,
      .chunk_us = chunk_us,
      .least_us = in_slices ? of_slices_us : 0};

  const std::int64_t own = arriving.chunks * arriving.across;
  const std::int64_t count = own * problem.world;
  const std::int64_t turns = divide_up(count, blocks);
  const double tile_us = multiplying.tile_us * (products.sends_beside ? longer_beside : 1);
  const double behind_last_us = in_slices ? tile_us / slices : tile_us;
  std::vector<double> done_us(static_cast<std::size_t>(blocks));
  for (std::int64_t number = 0; number < std::min(count, blocks * most_turns); ++number) {
    double& done = done_us[static_cast<std::size_t>(number % blocks)];
    const Arrival arrival = number < own ? Arrival{0, 0} : arriving.of(number - own);
    done = std::max(std::max(done, arrival.first_us) + tile_us, arrival.last_us + behind_last_us);
  }
  const double left_us = static_cast<double>(std::max<std::int64_t>(0, turns - most_turns)) * tile_us;
  const double all_us = std::max(*std::ranges::max_element(done_us) + left_us, arriving.last_us() + behind_last_us);
  const double sending_us = products.sent_bytes / target.rates.link_gbs / 1e3;
  return std::max(all_us, multiplying.sustained_us * longer_of_power(products, sending_us / all_us));
}

}  // namespace irisgen
