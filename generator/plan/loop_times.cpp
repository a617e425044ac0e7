#include "generator/plan/loop_times.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "generator/plan/gathering_times.hpp"

namespace irisgen {

std::int64_t compute_units_of_copies(const Target& target, const Products& products) {
  return products.by_copy_engine && target.platform == Platform::amd ? 1 : 0;
}

std::optional<std::int64_t> tiles_of(const Problem& problem, const Products& products, std::int64_t tile_m,
                                     std::int64_t tile_n) {
  const auto rows = static_length(problem, products.rows);
  const auto columns = static_length(problem, products.columns);
  if (!rows || !columns) return std::nullopt;
  return products.count * divide_up(*rows, tile_m) * divide_up(*columns, tile_n) * products.depth_parts;
}

double average_length(const Problem& problem, const Dimension& of, std::int64_t tile) {
  const std::int64_t all = static_length(problem, of).value_or(tile);
  return static_cast<double>(all) / static_cast<double>(std::max<std::int64_t>(1, divide_up(all, tile)));
}

std::int64_t parts_left(std::int64_t tiles, std::int64_t parts, std::int64_t blocks) {
  const std::int64_t left = tiles % blocks * parts;
  return parts > 1 && left <= blocks ? left : 0;
}

Turns turns_of(const Problem& problem, const Products& products, const Tiles& tiles, std::int64_t blocks) {
  const std::int64_t parts = tiles_of(problem, products, tiles.m, tiles.n).value();
  const std::int64_t count = parts / products.depth_parts;
  const bool has_parts = parts_left(count, products.depth_parts, blocks) > 0;
  return has_parts ? Turns{count / blocks, 1} : Turns{divide_up(count, blocks), 0};
}

namespace {

/// How much longer products take beside blocks that move their results, measured on H200s and on H100s: narrow tiles
/// read more operands, for which those that are summed compete.
double longer_beside_blocks(const Products& products, const Tiles& tiles) {
  return products.sums_tiles && tiles.n <= 128 ? 1.45 : 1.02;
}

bool has_links(const Products& products) {
  return products.sent_bytes > 0 || products.shipped_bytes > 0 || products.leaves_by_copy_engine;
}

/// Whether blocks send their tiles, and sum those that have come, beside their products.
bool is_summed_beside(const Products& products) {
  return products.sums_tiles && !products.moves_by_blocks;
}

/// Of the rate that the chip's power sustains, beside what crosses links: copies take part of it, those of blocks more
/// than a copy engine's, and narrow tiles more for each sum. Measured on H200s.
double share_beside_links(const Products& products, const Tiles& tiles) {
  if (products.by_copy_engine || products.leaves_by_copy_engine) return 0.92;
  if (!is_summed_beside(products)) return 0.88;
  return tiles.n <= 128 ? 0.87 : 1;
}

/// The rate at which the cache, which all compute units share, gives them operands beside what crosses links: what is
/// sent, or summed, goes through it, too. Measured on two H100s, and of rows that are gathered on H200s.
double beside_links_gbs(const Products& products) {
  return products.sums_tiles ? 7800 : products.sends_beside ? 8600 : products.sent_bytes > 0 ? 12500 : 9600;
}

/// The rate of rows of so many bytes, of which tensor copies bring a line each: what does not begin at a line of the
/// cache lies in two. Measured on an H200.
constexpr double whole_lines_gbs = 16000;
double of_rows_gbs(std::int64_t row_bytes) {
  constexpr std::int64_t line = cache_line_bytes;
  if (row_bytes % line == 0) return whole_lines_gbs;
  return row_bytes % (line / 2) == 0 ? 9800 : row_bytes % (line / 4) == 0 ? 8800 : 7000;
}

/// The least time in which the operands of a tile come from the cache: narrow tiles read more of them for each sum.
/// What crosses links beside them slows them down, as far as somebody has measured it: not where elements have over 16
/// bits.
double bound_by_cache_us(const FastLoop& loop, const Problem& problem, const Target& target, const Products& products,
                         const Tiles& tiles) {
  if (!target.measured || loop.main_loop != MainLoop::wgmma) return 0;
  const int bytes = iris::bytes_of(problem.dtype);
  const bool beside_links = has_links(products) && !is_summed_beside(products) && bytes <= 2;
  const double most_gbs = beside_links ? beside_links_gbs(products) : std::numeric_limits<double>::infinity();
  const auto us = [&](const Dimension& lines, std::int64_t tile, double gbs) {
    return average_length(problem, lines, tile) * length(problem, "k") * bytes / std::min(most_gbs, gbs) / 1e3;
  };
  const auto rate_of = [&](const Dimension& row) { return of_rows_gbs(static_length(problem, row).value() * bytes); };
  // What is gathered lies as in stages.
  const bool in_stages = products.gathers_rows && !products.by_copy_engine;
  const bool along_k = problem.layout_b == iris::Layout::nk;
  return us(products.rows, tiles.m, in_stages ? whole_lines_gbs : rate_of({"k"})) +
         us(products.columns, tiles.n, rate_of(along_k ? Dimension{"k"} : products.columns));
}

/// All products at the rate that the chip's power sustains.
double sustained_us(const Problem& problem, const Target& target, const Products& products, const Tiles& tiles) {
  const double flops = 2.0 * products.count * static_cast<double>(static_length(problem, products.rows).value()) *
                       static_cast<double>(static_length(problem, products.columns).value()) * length(problem, "k") /
                       speed_of(target, problem.dtype);
  const double share = has_links(products) && target.measured ? share_beside_links(products, tiles) : 1;
  return flops / (target.matrix_tflops * share) / 1e6;
}

/// Those of the tiles that `config:` allows; at least one. Threads that go through finished tiles divide their rows
/// evenly if these are a power of two. Where blocks send beside their products, or tiles leave, nobody has measured
/// widths that are no multiple of 64.
std::vector<Tiles> allowed_tiles(const FastLoop& loop, const Request& request, const Products& products) {
  std::vector<Tiles> allowed;
  for (Tiles tiles : loop.tiles) {
    tiles.k = depth_of(request.problem, tiles.k);
    const bool even = std::has_single_bit(static_cast<std::uint64_t>(tiles.n));
    const bool sends = products.sends_beside || products.shipped_bytes > 0;
    const bool suits = (!products.completes_tiles || even) && (!sends || tiles.n % 64 == 0);
    if (!suits && !request.wanted("tile_n")) continue;
    if (loop.suits && !loop.suits(request, products, tiles)) continue;
    if (!loop.holds(request.problem, products, tiles)) continue;
    if (allows(request, tiles)) allowed.push_back(tiles);
  }
  if (!allowed.empty()) return allowed;
  Tiles tiles = loop.tiles[loop.of_any_size];
  tiles.k = depth_of(request.problem, tiles.k);
  tiles.m = request.wanted("tile_m").value_or(tiles.m);
  tiles.n = request.wanted("tile_n").value_or(tiles.n);
  return {tiles};
}

/// The problem that tiles are chosen for: of unknown rows it has few, where blocks share tiles.
Problem to_choose_for(const Problem& problem, const Products& products) {
  constexpr std::int64_t few_rows = 64;
  Problem known = problem;
  for (iris::NamedExtent& extent : known.extents) {
    if (products.depth_parts > 1 && extent.name == products.rows.extent && extent.extent.dynamic)
      extent.extent = {.value = few_rows};
  }
  return known;
}

/// Of tiles that are sent and summed beside products, which take so long alone. What leaves as fast as it can holds up
/// operands; behind the last turn its tiles leave and are summed. Measured on two H100s and on four H200s, of blocks
/// that sum what they have multiplied; assumed of those that only sum.
double with_sums(const Problem& problem, const Target& target, const Products& products, std::int64_t blocks,
                 const Tiles& tiles, double multiply_us, double tile_us) {
  constexpr double held_up = 0.25;
  constexpr double until_summed_us = 2;
  const Pace pace = pace_of(problem, target, blocks, tiles, tile_us);
  const double image_bytes = products.shipped_bytes - products.sums_bytes;
  const double unpaced_bytes = image_bytes * (1 - pace.ship_ns / pace.links_ns) + products.sums_bytes;
  const std::int64_t count = tiles_of(problem, products, tiles.m, tiles.n).value();
  const std::int64_t in_last_turn = count - (turns_of(problem, products, tiles, blocks).of_tiles - 1) * blocks;
  const double after_last = static_cast<double>(in_last_turn) / static_cast<double>(count);
  // Between two tiles of a block it sends nothing, unless sums go to all meanwhile.
  const double share_of_links = products.sums_bytes > 0 ? 1 : 0.94;
  const auto link_us = [&](double bytes) { return bytes / (target.rates.link_gbs * share_of_links) / 1e3; };
  return std::max(multiply_us + (1 - after_last) * held_up * link_us(unpaced_bytes) +
                      after_last * link_us(products.shipped_bytes) + until_summed_us,
                  tile_us + link_us(products.shipped_bytes));
}

}  // namespace

Pace pace_of(const Problem& problem, const Target& target, std::int64_t blocks, const Tiles& tiles, double tile_us) {
  constexpr double telling_us = 7;  // measured on four H200s: until a tile that has left may be told of
  const auto bytes = static_cast<double>(blocks * tiles.m * tiles.n * iris::bytes_of(problem.result));
  const double links_ns = bytes / target.rates.link_gbs;
  return {links_ns, std::clamp((tile_us - telling_us) * 1e3, 0.0, links_ns)};
}

double reading_us(const Target& target, double bytes) {
  constexpr double filling_us = 2.5;  // measured on an H200: until memory delivers at its rate
  return bytes / target.rates.memory_gbs / 1e3 + filling_us;
}

double adding_us(const Problem& problem, const Target& target, const Products& products, const Tiles& tiles) {
  if (products.depth_parts == 1) return 0;
  // Measured on an H200 and on H100s; assumed elsewhere: through memory, and as long as any signal takes.
  const double block_gbs = target.measured ? 40 : target.rates.memory_gbs / target.compute_units;
  const double waiting_us = target.measured ? 1.1 : target.rates.signal_us;
  const double rows = std::min(static_cast<double>(tiles.m), length(problem, products.rows.extent));
  const double bytes = rows * static_cast<double>(tiles.n * iris::bytes_of(problem.accumulate));
  return waiting_us + 2 * bytes / block_gbs / 1e3;
}

namespace {

/// The same but for what power sustains.
double unthrottled_us(const FastLoop& loop, const Problem& problem, const Target& target, const Products& products,
                      std::int64_t blocks, const Tiles& tiles) {
  const Turns turns = turns_of(problem, products, tiles, blocks);
  const double k = length(problem, "k") / speed_of(target, problem.dtype);
  constexpr double behind_tiles_us = 6.5;  // measured on an H100; nobody has found why
  const bool wide_bytes = iris::bytes_of(problem.dtype) == 1 && tiles.n > 128 && target.measured;
  const double tile_us = loop.tile_us(problem, target, products, tiles, k);
  const auto parts = static_cast<double>(products.depth_parts);
  const double fetch_us = bound_by_cache_us(loop, problem, target, products, tiles);
  const auto turn_us = [&](std::int64_t of_turn) { return std::max(tile_us, static_cast<double>(of_turn) * fetch_us); };
  const std::int64_t whole_turns = turns.of_parts > 0 ? turns.of_tiles : std::max<std::int64_t>(0, turns.of_tiles - 1);
  const std::int64_t count = tiles_of(problem, products, tiles.m, tiles.n).value() / products.depth_parts;
  const std::int64_t left = count - whole_turns * blocks;
  const double part_us =
      std::max(loop.tile_us(problem, target, products, tiles, k / parts), static_cast<double>(left) * fetch_us) +
      adding_us(problem, target, products, tiles) + (wide_bytes && turns.of_tiles > 0 ? behind_tiles_us : 0);
  const double last_us = turns.of_parts > 0   ? static_cast<double>(turns.of_parts) * part_us
                         : turns.of_tiles > 0 ? turn_us(left)
                                              : 0;
  return static_cast<double>(whole_turns) * turn_us(blocks) + last_us;
}

}  // namespace

double turns_us(const FastLoop& loop, const Problem& problem, const Target& target, const Products& products,
                std::int64_t blocks, const Tiles& tiles) {
  return std::max(sustained_us(problem, target, products, tiles),
                  unthrottled_us(loop, problem, target, products, blocks, tiles));
}

double with_links(const FastLoop& loop, const Problem& problem, const Target& target, const Products& products,
                  std::int64_t comm_blocks, std::int64_t blocks, const Tiles& tiles, double multiply_us) {
  if (products.shipped_bytes == 0 && products.sent_bytes == 0) return multiply_us;
  double tile_us =
      loop.tile_us(problem, target, products, tiles, length(problem, "k") / speed_of(target, problem.dtype));
  if (products.sent_bytes > 0) {
    if (products.sends_beside && loop.main_loop != MainLoop::wgmma) return multiply_us;  // they have been sent before
    const double fetch_us = bound_by_cache_us(loop, problem, target, products, tiles);
    const double turn_us = std::max(tile_us, static_cast<double>(blocks) * fetch_us);
    return gathering_us(loop, problem, target, products, comm_blocks,
                        {blocks, tiles, turn_us, sustained_us(problem, target, products, tiles)});
  }
  if (products.moves_by_blocks && loop.main_loop == MainLoop::wgmma) {
    const double times_as_long = longer_beside_blocks(products, tiles);
    multiply_us *= times_as_long;
    tile_us *= times_as_long;
  }
  if (products.sums_tiles && loop.main_loop == MainLoop::wgmma && target.measured)
    return with_sums(problem, target, products, blocks, tiles, multiply_us, tile_us);
  // Measured on two H100s: blocks that copy what others have finished, a row of a tile after another.
  constexpr double copying_gbs = 10;
  const bool by_blocks = products.moves_by_blocks && !products.completes_tiles && target.measured;
  const double rate = by_blocks ? std::min(target.rates.link_gbs, static_cast<double>(comm_blocks) * copying_gbs)
                                : target.rates.link_gbs;
  return std::max(multiply_us, tile_us + products.shipped_bytes / rate / 1e3);
}

LoopChoice choose_for(const FastLoop& loop, const Request& request, const Products& products) {
  const Problem problem = to_choose_for(request.typical(), products);
  const std::int64_t compute_units = request.target.compute_units - compute_units_of_copies(request.target, products);
  const std::int64_t blocks = std::min<std::int64_t>(compute_units, request.wanted("blocks").value_or(compute_units));
  const std::int64_t usual = std::min<std::int64_t>(loop.comm_blocks, std::max<std::int64_t>(1, blocks / 2));
  const bool free = products.sent_bytes > 0 && products.moves_by_blocks && !request.wanted("comm_blocks") &&
                    !request.wanted("blocks");
  std::vector<std::int64_t> all_comm_blocks = {request.wanted("comm_blocks").value_or(usual)};
  if (free && !loop.sending_blocks.empty()) {
    all_comm_blocks.assign(loop.sending_blocks.begin(), loop.sending_blocks.end());
  }
  const std::vector<Tiles> all_tiles = allowed_tiles(loop, request, products);
  LoopChoice best{all_tiles[std::min(loop.of_any_size, all_tiles.size() - 1)],
                  request.wanted("comm_blocks").value_or(usual), std::nullopt, 0};
  if (!problem.is_static()) return best;
  // Of nearly equal times, the one with less to multiply, then that with more communication blocks, which cost nothing.
  constexpr double share_of_product = 0.05;
  constexpr double never = std::numeric_limits<double>::infinity();
  std::tuple<double, double, std::int64_t> best_time = {never, never, 0};
  for (const Tiles& tiles : all_tiles) {
    for (const std::int64_t comm_blocks : all_comm_blocks) {
      const std::int64_t multiplying = std::max<std::int64_t>(1, blocks - (products.moves_by_blocks ? comm_blocks : 0));
      const Turns turns = turns_of(problem, products, tiles, multiplying);
      const double multiply_us = turns_us(loop, problem, request.target, products, multiplying, tiles);
      const double us =
          with_links(loop, problem, request.target, products, comm_blocks, multiplying, tiles, multiply_us);
      const double own_us = unthrottled_us(loop, problem, request.target, products, multiplying, tiles);
      const std::tuple time = {us + share_of_product * own_us, own_us, -comm_blocks};
      if (time >= best_time) continue;
      best_time = time;
      best = {tiles, comm_blocks, turns, us};
    }
  }
  return best;
}

std::string turns_text(const std::optional<Turns>& turns) {
  if (!turns) return "suits sizes that are known only at launch";
  const std::int64_t all = turns->of_tiles + turns->of_parts;
  const std::string text = std::to_string(all) + (all == 1 ? " turn" : " turns") + " of the compute units";
  return turns->of_parts == 0 ? text : text + ", " + std::to_string(turns->of_parts) + " of them for parts of tiles";
}

}  // namespace irisgen
