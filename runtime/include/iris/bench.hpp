#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "irisgen/plan.hpp"
#include "irisgen/target.hpp"

namespace iris {

/// `4K:64M`, `4K:64M:2`, `1M`: sizes from the first to the last, each the factor (4 unless given) times the one before;
/// several of these with commas between them. K, M and G are powers of 1024, as in nccl-tests. Throws
/// std::invalid_argument with a sentence.
std::vector<std::int64_t> parse_sizes(std::string_view text);

/// The collective with m = 1 and the n whose size, as nccl-tests counts it, is closest below `bytes` (at least one
/// element). What nccl-tests calls the size is the larger of a rank's input and output: n elements of all_reduce and
/// broadcast, world · n of all_gather (its output), reduce_scatter (its input) and all_to_all. Throws
/// std::invalid_argument for a fused kernel, which has no one size.
irisgen::KernelSpec at_size(const irisgen::KernelSpec& kernel, int world, std::int64_t bytes);

struct BenchOptions {
  std::vector<std::int64_t> sizes;  ///< bytes, for collectives; empty: the kernel's own shape
  /// Where that is dynamic: each of these is measured, by launches of one kernel. Unused where it is known.
  std::vector<Extents> extents = {};
  int batches = 20;   ///< the median is over these
  int launches = 20;  ///< at most, of a batch; fewer where a launch is long
  /// Each launch finds its buffers in memory, not in a cache: launches take so many buffers in turn. Flags and what a
  /// kernel keeps between launches stay where they are.
  bool cold = false;
  std::uint64_t seed = 0;          ///< of the data
  std::string compiler = {};       ///< as for build_operation
  irisgen::PlanOptions plan = {};  ///< how it is planned; its device is the one of this machine
  bool against_library = false;    ///< measure the vendor's library of collectives, too: NCCL, RCCL
  /// This process is one rank (World::join). Collective: all say the same; the report is the same in all processes.
  bool processes = false;
  /// Called from the calling thread before each size.
  std::function<void(int done, int total)> progress = nullptr;
};

/// What the vendor's library takes, median of as many batches, of 20 launches or fewer where one is long, as ours; 0:
/// not measured.
struct LibraryTimes {
  double time_us = 0;    ///< on any memory
  double window_us = 0;  ///< on memory of its own, registered in windows that all ranks have alike

  double best_us() const { return window_us > 0 ? std::min(time_us, window_us) : time_us; }
};

/// One size. Rates are in 10⁹ bytes per second, per GPU.
struct BenchPoint {
  Extents extents;
  std::int64_t bytes = 0;   ///< as nccl-tests counts them; 0 for a fused kernel
  std::string variant;      ///< "by_size: ring" where one of several kernels serves this size
  std::string grids;        ///< blocks x threads of each kernel: "32 x 512", "16 x 512, 264 x 256"
  double time_us = 0;       ///< median of the batches
  double predicted_us = 0;  ///< by the plan; of dynamic extents, by the plan for them if they were known
  double fastest_us = 0;
  double slowest_us = 0;
  /// What a call of Operation::launch takes of the host, on the slowest rank; 0 where ranks share a GPU: not measured.
  double call_us = 0;
  double algorithm_gbs = 0;
  double bus_gbs = 0;
  double link_gbs = 0;  ///< what the busiest rank sends over its links, by the plan
  double tflops = 0;    ///< of a product, alone or fused, per GPU; 0 for a collective
  double links_us = 0;  ///< in which the links carry those bytes: nothing is faster
  /// Median for the product that is in a fused kernel alone, without any peer; 0 for what is not fused. Its batches and
  /// the kernel's take turns.
  double product_us = 0;
  LibraryTimes library = {};

  /// Of a fused kernel, the share of what is possible: 1 where it takes as long as the larger of its product and links.
  double of_limit() const { return std::max(product_us, links_us) / time_us; }
};

struct BenchReport {
  std::string kernel;  ///< its name
  std::string pattern;
  Dtype dtype = Dtype::f32;
  double link_gbs = 0;  ///< that a GPU's links carry, as the target's rates have it
  std::string device;
  std::string library;  ///< "NCCL 2.28.9"; empty: not measured against
  int world = 1;
  bool cold = false;         ///< as asked for
  int ranks_per_device = 1;  ///< the most; above 1 the numbers tell little, since ranks share one GPU
  std::vector<BenchPoint> points;
};

/// A table of points as RFC 4180 has it: the line of its columns' names, and a row for each point of a report. Times
/// are in microseconds, rates in 10⁹ bytes per second. Extents that a pattern does not have are empty.
std::string bench_csv_header();
std::string bench_csv_rows(const BenchReport& report);

/// An SVG image with a row for each of these collectives: its time and its bus bandwidth against size, the library's,
/// and what the links allow. Throws std::invalid_argument for what has no sizes.
std::string bench_chart(std::span<const BenchReport> reports);

/// Measures a kernel on this machine's GPUs, a GPU for each rank if against the vendor's library. A batch is one launch
/// that lines the ranks up, then, between two device events of every rank, a graph of launches one after another; its
/// time is the slowest rank's, divided by the launches. So a time contains what of the launches' gaps the device cannot
/// hide, and no host time, which is measured apart. (Ranks that share a GPU launch without a graph.) The data is
/// random; the buffers are the same in every launch, so sizes below the L2 cache's are measured there, as in
/// nccl-tests, unless `cold` is asked for. Nothing is verified: run_operation does that. Throws a sentence for the host
/// target (the CPU engine is for correctness), and what planning, compiling and launching throw.
BenchReport bench_operation(const irisgen::KernelSpec& kernel, int world, const irisgen::Target& target,
                            const BenchOptions& options = {});

}  // namespace iris
