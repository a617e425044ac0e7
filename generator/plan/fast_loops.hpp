#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "generator/plan/matmul_planning.hpp"

/// The main loops of which a block takes a whole compute unit, in one table: those of matrix units, and multiply-adds
/// where these would round. Which tiles they take, what stands in the way, and how long a tile takes.
namespace irisgen {

/// Blocks of a GPU's grid that do not multiply, where nothing else says how many.
inline constexpr int gpu_comm_blocks = 16;

struct Tiles {
  std::int64_t m, n, k, threads, band;
};

struct FastLoop {
  Platform platform;
  MainLoop main_loop;
  std::span<const Dtype> alone_for;              ///< another loop has all other types; empty: this one
  std::span<const Tiles> tiles;                  ///< to choose from, of operands of 16 bits
  std::size_t of_any_size;                       ///< which of them, where sizes are known only at launch
  int comm_blocks;                               ///< where nothing else says how many
  std::span<const std::int64_t> sending_blocks;  ///< to choose from, where those blocks send operands
  std::string (*obstacle)(const Request&, const Products&);
  bool (*holds)(const Problem&, const Products&, const Tiles&);  ///< whether a block has room for such a tile
  bool (*suits)(const Request&, const Products&,
                const Tiles&) = nullptr;  ///< whether the Plan may take it; any if none
  double (*tile_us)(const Problem&, const Target&, const Products&, const Tiles&, double k);
  std::string_view called;  ///< what a product goes without that takes another loop
  std::string_view reason;
  std::string_view of_rows;  ///< that are no multiple of 16 bytes; empty: no other way than of any
  std::string_view threads_reason;
  std::string_view depth_reason;
  const FastLoop* otherwise = nullptr;  ///< what takes such elements, more slowly, where something stands in the way
};

/// What multiplies, and what stands in the way of something faster.
struct FastLoopChoice {
  const FastLoop* loop = nullptr;       ///< nullptr: multiply-adds, of one slice at a time
  const FastLoop* preferred = nullptr;  ///< for such elements; nullptr: the target has none
  std::string obstacle;                 ///< to that one, and to what would stand in for it; empty: it is taken
};
FastLoopChoice fast_loop_for(const Request& request, const Products& products);

/// That of a kernel, which fills_compute_unit().
const FastLoop& fast_loop_of(const KernelPlan& kernel);

/// Whether `config:` asks for no other tile.
bool allows(const Request& request, const Tiles& tiles);

/// Why it is taken, and what makes it slow, for `explain`.
std::string reason_of(const FastLoopChoice& choice, const Request& request, const Products& products);

/// How much faster than operands of 16 bits these are multiplied; 0 if no such loop takes them.
double speed_of(const Target& target, Dtype dtype);
/// How deep tiles are that are so deep with elements of 16 bits.
std::int64_t depth_of(const Problem& problem, std::int64_t of_16_bits);

}  // namespace irisgen
