#pragma once

#include <array>

#include "generator/plan/compose.hpp"

/// Choices that the matmuls share, plain and fused.
namespace irisgen {

/// The keys of `config:` that shape a tile's kernel.
inline constexpr std::array<std::string_view, 6> tile_keys = {"blocks", "threads", "vector",
                                                              "tile_m", "tile_n",  "tile_k"};
/// Those of a kernel in which some blocks move data while the others multiply.
inline constexpr std::array<std::string_view, 7> role_keys = {"blocks", "comm_blocks", "threads", "vector",
                                                              "tile_m", "tile_n",      "tile_k"};

/// Of a product: a; b of so many columns, as the problem's layout has it; where these are e4m3 the scales of both, one
/// f32 of each, by which sums are multiplied before they are rounded (that of a gathered A is alike on all ranks); and
/// the output.
std::vector<Argument> product_arguments(const Problem& problem, std::vector<Dimension> a, const Dimension& columns_of_b,
                                        std::vector<Dimension> output);

/// The extent divides among the ranks: `m` or `n`.
void check_divides(const KernelSpec& spec, const Problem& problem, const std::string& extent, Report& report);
/// m does.
void check_rows(const KernelSpec& spec, const Problem& problem, Report& report);

/// What the main loop of a kernel multiplies: `count` times rows × columns, each of them cut into tiles of its own,
/// over a depth of k.
struct Products {
  Dimension rows;
  Dimension columns;
  int count = 1;
  Dimension a_rows;                    ///< of the argument `a`
  bool gathers_rows = false;           ///< of A, which come from other ranks meanwhile
  bool rows_together = false;          ///< come to lie in one matrix with this rank's, in the workspace
  bool moves_by_blocks = false;        ///< some of the grid's blocks do not multiply
  bool sends_beside = false;           ///< blocks send operands beside their products
  bool by_copy_engine = false;         ///< rows come into the buffer `gathered` without blocks
  std::int64_t copies = 0;             ///< of a rank, then
  bool leaves_by_copy_engine = false;  ///< what one launch has made, beside the next
  double sent_bytes = 0;               ///< of operands, over the links, of a static problem
  double shipped_bytes = 0;            ///< of finished tiles, over the links, of a static problem
  double sums_bytes = 0;               ///< of these, of sums that go to all
  bool completes_tiles = false;        ///< blocks go through their finished tiles once more
  bool sums_tiles = false;             ///< to add those of all ranks up
  int parts = 1;                       ///< whose tiles are taken in turn, as TilesOfParts does
  std::int64_t depth_parts = 1;        ///< along k, in which blocks make each tile
};

struct Tiles;
/// Of multiply-adds, of one slice at a time.
Tiles default_tiles(const Request& request);

/// Decides the main loop, `threads`, `tile_m`, `tile_n`, `tile_k` and `vector`, and checks that they fit each other and
/// the target.
void choose_tiles(const Request& request, KernelPlan& kernel, const Products& products);

/// Decides `blocks` for a kernel that only multiplies.
void choose_matmul_grid(const Request& request, KernelPlan& kernel, const Products& products);

/// Where the number of tiles is known only at launch: launches no more blocks than there are tiles. For a kernel whose
/// blocks take tiles in turn and do not wait for one another.
void launch_blocks_with_tiles(const Request& request, KernelPlan& kernel, const Products& products);

/// Decides `parts`: in how many, along k, blocks make each tile.
std::int64_t choose_depth_parts(const Request& request, KernelPlan& kernel, const Products& products);

/// Decides `comm_blocks` and `blocks`. `role` completes "blocks that …".
void choose_roles(const Request& request, KernelPlan& kernel, const Products& products, const std::string& role);

/// Whether choose_roles() has done that.
bool has_roles(const KernelPlan& kernel);
/// Blocks of the grid that multiply.
std::int64_t multiplying_blocks(const KernelPlan& kernel);

/// Decides `unroll` of the sums over `sources`, ranks or parts, that a kernel takes beside its products.
void choose_summing(const Request& request, KernelPlan& kernel, int sources);

/// Decides `ship_ns`, once the grid is known: how many nanoseconds a finished tile takes to leave for another rank.
void choose_pace(const Request& request, KernelPlan& kernel, const Products& products);

/// Of mailboxes of tiles, one behind another: `rows` for every `of` rows of m.
struct MailboxRows {
  std::int64_t rows = 1;
  std::int64_t of = 1;
  int mailboxes = 1;
};

/// A workspace with a slot for each rank: for the images of all tiles of this rank's shard of m rows × n columns,
iris::ByteSize slots_of_tiles(const Problem& problem, const KernelPlan& kernel);
/// for those of every so many of the tiles of m rows × n columns, of which each rank has its share,
iris::ByteSize slots_of_divided_tiles(const Problem& problem, const KernelPlan& kernel);
/// for that rank's shard of m rows of A, as Gathered, or one for those of all ranks;
iris::ByteSize slots_of_rows(const Problem& problem, const KernelPlan& kernel, int slots);
/// or for its products for this rank in lines, as TileMailbox, behind what blocks reserve for the images of their
/// tiles.
iris::ByteSize mailboxes_of_tiles(const Problem& problem, const KernelPlan& kernel, const MailboxRows& rows);
/// In each row of a tile, of such a mailbox.
std::int64_t lines_of_tile_row(const KernelPlan& kernel);

/// A workspace, of one buffer, for the sums of all parts of those tiles of m rows × n columns that the blocks do not
/// make alone.
iris::ByteSize sums_of_parts(const Problem& problem, const KernelPlan& kernel);

/// Pattern::product: so many rows and columns of a rank's product, over a depth of k.
Problem product_of(const Problem& problem, const Dimension& rows, const Dimension& columns);
/// Pattern::product where every rank multiplies m rows by n columns.
Problem whole_product(const Problem& problem);

/// Of a kernel that multiplies: blocks that run at once.
std::int64_t blocks_side_by_side(const Target& target, const KernelPlan& kernel, Dtype accumulate);

/// Time that the blocks of a kernel take to multiply, of a static problem: in turns, the last of which may leave some
/// without work; of few rows that to read B.
double multiply_us(const Problem& problem, const Target& target, const KernelPlan& kernel, const Products& products);

/// Time that the blocks of a kernel which do not multiply take to read so many bytes and to sum them.
double summing_us(const KernelPlan& kernel, double bytes);

/// The whole's product of `a` (its buffer of m rows) and b, as a part.
PartRequest matmul_part(const Problem& whole, const std::string& a, const std::string& output, Dtype result);

/// Bytes of a matrix of a static problem.
double matrix_bytes(const Problem& problem, const std::vector<Dimension>& shape, Dtype dtype);

}  // namespace irisgen
