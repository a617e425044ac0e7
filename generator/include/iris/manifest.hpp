#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "iris/problem.hpp"
#include "iris/scalar.hpp"

namespace iris {

enum class Access {
  read,
  write,   ///< whatever was in it
  update,  ///< read and written
};

/// Whether the output of a launch may lie in the memory of its input.
enum class InPlace {
  no,
  same_buffer,  ///< the output may be the input
  own_block,    ///< the smaller of both may be block `rank` of the larger one, however that is aligned
};

/// A buffer that an operation or a kernel takes, per rank, in row-major order.
struct Argument {
  std::string name = {};  ///< input, output, a, b
  Access access = Access::read;
  Dtype dtype = Dtype::f32;
  std::vector<Dimension> shape = {};
  bool symmetric = false;   ///< must lie on the symmetric heap, at the same offset on every rank
  int alignment = 1;        ///< bytes, of the pointer
  bool root_only = false;   ///< only the root's content matters (broadcast's input)
  bool replicated = false;  ///< all ranks must have the same in it (the bias of an all_reduce)
  bool operator==(const Argument&) const = default;
};

/// A buffer of each rank that one kernel of an operation fills for another. 256-byte aligned.
struct Intermediate {
  std::string name = {};
  Dtype dtype = Dtype::f32;
  std::vector<Dimension> shape = {};
  bool symmetric = true;  ///< on the heap, where other ranks reach it; otherwise in memory of the rank's device
  bool operator==(const Intermediate&) const = default;
};

/// A number of bytes: the sum of terms, each so many bytes times the product of the extents that it names.
struct ByteSize {
  struct Term {
    std::int64_t bytes = 0;
    std::vector<std::string> extents = {};
    bool operator==(const Term&) const = default;
  };
  std::vector<Term> terms = {};
  bool operator==(const ByteSize&) const = default;
};

/// One compiled kernel of an operation, and what each of its launches needs.
struct KernelEntry {
  std::string part = {};         ///< its name within the operation; empty for the only kernel
  std::string symbol = {};       ///< of the entry in its code object
  std::string source_hash = {};  ///< SHA-256 of the self-contained source, hexadecimal
  int blocks = 1;
  int threads = 1;
  bool waits = true;            ///< its blocks wait for others', so that all must be resident
  bool waits_for_ranks = true;  ///< for those of other ranks
  /// It waits itself for what its stream has before it, so that the GPU may set it up while that ends.
  bool dependent_launch = false;
  /// It lets the GPU set up such a launch behind it while it runs, beside its own blocks.
  bool lets_next_begin = false;
  std::int64_t flags = 0;   ///< 64-bit flags on the symmetric heap
  ByteSize workspace = {};  ///< of both ping-pong buffers together
};

/// A matrix without gaps that a kernel reads by tensor copies. Each launch passes it as a device::TensorMap.
struct MatrixMap {
  std::string buffer = {};  ///< an argument or intermediate of the operation
  Dtype dtype = Dtype::f32;
  Dimension rows = {};
  Dimension columns = {};
  int box_rows = 1;  ///< of one copy
  int box_columns = 1;
  /// A copy has the rows that boxes of `box_rows` leave of so many, rounded up to a multiple of 8: of the last box.
  std::optional<Dimension> last_of = {};
  bool operator==(const MatrixMap&) const = default;
};
/// Most arguments that a launch may have, the Context included.
inline constexpr std::size_t max_arguments = 32;

/// Most maps that a kernel takes.
inline constexpr std::size_t max_maps = 5;

/// Rows that tensor copies swizzle together: of a box there are so many, or a multiple.
inline constexpr std::int64_t swizzled_rows = 8;

/// Rows of the last of the boxes of `box_rows` that so many rows are cut into, rounded up to a multiple of 8.
constexpr std::int64_t rows_of_last_box(std::int64_t box_rows, std::int64_t rows) {
  const std::int64_t left = rows % box_rows == 0 ? box_rows : rows % box_rows;
  return std::min(box_rows, (left + swizzled_rows - 1) / swizzled_rows * swizzled_rows);
}

/// The tiles of a matrix, where its edges leave parts of tiles, too.
struct TileCount {
  Dimension rows = {};
  Dimension columns = {};
  std::int64_t tile_rows = 1;
  std::int64_t tile_columns = 1;
  bool operator==(const TileCount&) const = default;
};

/// Of so many blocks that take the tiles of a matrix of this size in turn: those for which there is one, and one at
/// least.
constexpr std::int64_t blocks_with_tiles(std::int64_t blocks, const TileCount& tiles, std::int64_t rows,
                                         std::int64_t columns) {
  const auto count = [&](std::int64_t length, std::int64_t of_tile) {
    return std::min(blocks, length / of_tile + (length % of_tile != 0 ? 1 : 0));
  };
  return std::clamp<std::int64_t>(count(rows, tiles.tile_rows) * count(columns, tiles.tile_columns), 1, blocks);
}

/// Launches kernel number `kernel` of the operation. Behind the extents an entry takes all of the operation's scalars.
struct LaunchStep {
  int kernel = 0;
  std::vector<std::string> buffers = {};  ///< arguments and intermediates of the operation, in the entry's order
  std::vector<Dimension> extents = {};    ///< what the entry's dynamic extents are, in its order, and a number of the
                                          ///< launch, if it takes one behind them
  std::vector<MatrixMap> maps = {};       ///< what the entry takes last, in its order
  /// Blocks take these in turn, none waits for another, and those for which there is none are not launched. Nothing:
  /// all blocks are.
  std::optional<TileCount> tiles = {};
  bool operator==(const LaunchStep&) const = default;
};

/// Which of the equal blocks that a buffer consists of.
enum class BlockIndex {
  first,  ///< the buffer begins with it
  rank,   ///< the one with the number of the rank that copies
  peer,   ///< the one with the number of the rank that is copied to
};

/// Rows of a block, whose first dimension they are: all of them, or number `number` of `count` runs of equal length,
/// each a multiple of `granule` rows; the last ones may be shorter, or empty.
struct Portion {
  int number = 0;
  int count = 1;
  int granule = 1;
  bool operator==(const Portion&) const = default;
};

struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Those of a portion, of a block of so many.
constexpr RowRange rows_of(const Portion& portion, std::int64_t rows) {
  const auto divide_up = [](std::int64_t value, std::int64_t by) { return (value + by - 1) / by; };
  const std::int64_t length = divide_up(divide_up(rows, portion.granule), portion.count) * portion.granule;
  const std::int64_t first = std::min(rows, portion.number * length);
  return {first, std::min(rows - first, length)};
}

/// Copies rows of a block of `shape` elements by the copy engine, from this rank's `from` to `to` on the rank that is
/// `peer_offset` after it in the circle of ranks (0: on this rank). `to` is symmetric.
struct CopyStep {
  std::string from = {};
  BlockIndex from_block = BlockIndex::first;
  std::string to = {};
  BlockIndex to_block = BlockIndex::first;
  int peer_offset = 0;
  std::vector<Dimension> shape = {};
  Portion portion = {};
  bool operator==(const CopyStep&) const = default;
};

/// A flag of a kernel: number `first`, or that of a rank among those that begin there.
struct FlagIndex {
  int kernel = 0;
  std::int64_t first = 0;
  BlockIndex of = BlockIndex::first;
  bool operator==(const FlagIndex&) const = default;
};

/// Copies a flag of this rank to one of the rank that is `peer_offset` after it in the circle of ranks, by the copy
/// engine: when it shows there, the copies that stand before it in the stream have come.
struct SignalStep {
  FlagIndex from = {};
  FlagIndex to = {};
  int peer_offset = 0;
  bool operator==(const SignalStep&) const = default;
};

/// Lets the step's stream wait for all that another stream of the operation has been given before.
struct WaitStep {
  int stream = 0;
  bool operator==(const WaitStep&) const = default;
};

/// One thing that a launch of an operation enqueues.
struct Step {
  int stream = 0;  ///< 0 is the caller's; the others are the operation's own
  std::variant<LaunchStep, CopyStep, SignalStep, WaitStep> action;
  bool operator==(const Step&) const = default;
};

/// The `up_to` of what takes every size, or length.
inline constexpr std::int64_t every_size = INT64_MAX;

/// Lengths of a dynamic extent: up to so many, and where `multiple_of` is over 1, only those over 0 that are multiples.
struct Bound {
  std::string extent = {};
  std::int64_t up_to = every_size;
  std::int64_t multiple_of = 1;
  bool operator==(const Bound&) const = default;
};

/// The steps of launches whose size (size_of) is `up_to` or less, whose extents are within all bounds, and which are in
/// no schedule before.
struct Schedule {
  std::int64_t up_to = 0;
  std::vector<Step> steps = {};
  std::vector<Bound> bounds = {};
};

/// What is needed to launch an operation: the JSON beside the emitted sources, described by schemas/manifest.json.
/// Launching from a manifest is the only way to launch.
struct Manifest {
  int abi = 0;  ///< iris::device::abi_version
  std::string name = {};
  std::string target = {};     ///< host, gfx942, sm_90a
  std::string spec_hash = {};  ///< SHA-256 of the canonical description, hexadecimal
  std::string variant = {};
  Problem problem = {};
  int timeout_ms = 0;  ///< bound of every wait
  InPlace in_place = InPlace::no;
  std::vector<Argument> arguments = {};
  std::vector<Scalar> scalars = {};  ///< what every launch gives by value
  std::vector<Intermediate> intermediates = {};
  std::vector<KernelEntry> kernels = {};
  std::vector<Schedule> schedules = {};  ///< each takes launches that none before does; the last, all that are left
};

/// Whether a bound takes launches whose extent is so long.
bool takes(const Bound& bound, std::int64_t length);

/// The largest size for which some schedule launches the kernel of this number; every_size where nothing bounds it.
std::int64_t largest_size(std::span<const Schedule> schedules, std::size_t kernel);
/// A size below which none does: 0 where it is not known.
std::int64_t least_size(std::span<const Schedule> schedules, std::size_t kernel);
/// The same of the length of one extent.
std::int64_t largest_length(std::span<const Schedule> schedules, std::size_t kernel, std::string_view extent);
/// The length of one extent for which some schedule uses the buffer at most.
std::int64_t largest_length(std::span<const Schedule> schedules, const Intermediate& buffer, std::string_view extent);

/// Pretty-printed JSON with a final newline; the same bytes every time.
std::string to_json(const Manifest& manifest);

/// Throws std::runtime_error with a sentence if the text is no manifest of this version.
Manifest parse_manifest(std::string_view json);

}  // namespace iris
