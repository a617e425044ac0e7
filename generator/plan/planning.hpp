#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "irisgen/pattern.hpp"
#include "irisgen/plan.hpp"

/// What the planning of every variant is made of: the request, the draft that answers it, and the choices that kernels
/// share.
namespace irisgen {

/// The widest that a thread makes.
inline constexpr std::int64_t access_bytes = 16;
/// What the caches of GPUs hold, and fetch, at least.
inline constexpr std::int64_t cache_line_bytes = 128;

/// Buffers begin on the heap at multiples of so many bytes.
inline constexpr std::int64_t heap_alignment = 256;

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}
constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return divide_up(value, to) * to;
}

using iris::Access;
using iris::Argument;
using iris::Dimension;
using iris::InPlace;

/// What a plan is for beside its problem: the launches, where that leaves lengths open, and what may be made of it.
struct Launches {
  Problem typical;  ///< the problem, with lengths that suit most of them; open where nobody knows better
  std::optional<std::int64_t> most_rows = {};   ///< that m has in them
  std::span<const std::string> templates = {};  ///< as PlanOptions have them
};

/// What a variant plans for.
struct Request {
  const KernelSpec& spec;  ///< for its name and places
  const Problem& problem;
  const Target& target;
  const Settings& config;
  std::string_view variant;  ///< its own name
  const Launches& launches;

  /// That choices are made for.
  const Problem& typical() const { return launches.typical; }
  bool on_host() const { return target.platform == Platform::host; }
  /// What `config:` says of a key.
  std::optional<int> wanted(std::string_view key) const;
};

struct Part;

/// An operation as a variant plans it.
struct Draft {
  std::vector<Argument> arguments;
  std::vector<iris::Intermediate> intermediates;
  std::vector<KernelPlan> kernels;
  std::vector<iris::Step> steps;
  InPlace in_place = InPlace::no;
  std::vector<Part> parts;  ///< of which it is composed, for their costs
};

/// A problem within another one.
struct Part {
  const Variant* variant;
  Problem problem;
  std::vector<std::pair<std::string, Dimension>> extents;  ///< of the part, by those of the whole
  std::shared_ptr<const Draft> draft;
};

/// What one kernel or copy does on the busiest rank.
struct Work {
  double link_bytes = 0;       ///< sent over the links
  double of_links = 1;         ///< of the target's rate that it reaches
  bool over_one_link = false;  ///< to one neighbour, rather than to all peers
  double fill_bytes = 0;       ///< that others send, one after another, before a pipeline is full
  double memory_bytes = 0;     ///< read from and written to the rank's own memory meanwhile
  double arrived_bytes = 0;    ///< read from its own memory once all has come over the links
  double multiply_us = 0;      ///< see matmul_planning.hpp
  double summing_us = 0;       ///< that blocks which do not multiply take to sum at the same time
  int signals = 0;             ///< one after another; a world of one rank sends none
  int lines = 0;               ///< one after another, that carry their own flags
  bool by_copy_engine = false;
  double behind_us = 0;  ///< until it begins, behind the one before; negative where it is set up meanwhile
};

/// Times from the target's rates, of works that follow one another in a world of so many ranks.
Prediction predict(const Target& target, int world, const std::vector<Work>& works);

/// Throws SpecError: what cannot be planned for this target, at the setting of that name, else at the kernel's config.
[[noreturn]] void refuse(const Request& request, std::string_view key, const std::string& message);

// --- One kernel. Each function adds the constants that it decides, in the order of the calls. Those named as a key of
// --- `config:` are the user's where he has set them.

/// A kernel of a template whose ranks work together, with its `world`.
KernelPlan start_kernel(const Request& request, std::string_view template_path);
/// A kernel that knows of no other rank and waits for nobody.
KernelPlan start_local_kernel(const Request& request, std::string_view template_path);

/// A kernel of one block in which all ranks meet, for operations of several steps.
KernelPlan barrier_kernel(const Request& request);

/// A number that the user may set.
std::int64_t decide(const Request& request, KernelPlan& kernel, const std::string& name, std::int64_t value,
                    std::string unit, std::string reason);
/// A number that he may not.
void add_number(KernelPlan& kernel, const std::string& name, std::int64_t value, std::string unit, std::string reason);

/// Element, and as far as they are asked for Result, Accumulate and Operation.
struct Types {
  bool result = false;
  bool accumulate = false;
  bool operation = true;  ///< of a problem that has one
};
void add_types(const Request& request, KernelPlan& kernel, const Types& types);

/// `vector`, elements in one access: as many as 16 bytes hold of `widest` (the widest type that a thread reads or
/// writes), fewer where runs of `run` elements must begin on an access boundary.
int choose_vector(const Request& request, KernelPlan& kernel, Dtype widest, std::optional<std::int64_t> run = {});

/// choose_vector() for accesses of at most so many bytes.
int choose_vector_of(const Request& request, KernelPlan& kernel, std::int64_t bytes, Dtype widest,
                     std::optional<std::int64_t> run);

/// `blocks` that pass on or compute `elements` of a rank (nothing: unknown until the launch, for which there is
/// `reason`), each `block_takes` of them in an iteration, and each of so many `roles` by blocks of its own: at most
/// `of_links` times as many as keep the links busy.
std::int64_t decide_blocks(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements,
                           std::int64_t block_takes, std::int64_t of_links, std::string reason, std::int64_t roles = 1);
/// `threads` and `blocks` of a kernel whose ranks each handle `elements` (nothing: unknown until the launch) in
/// accesses of `vector`, for bound_grid() to check; `of_links` as above.
void decide_grid(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements, int vector,
                 std::int64_t of_links = 1);
/// Both.
void choose_grid(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements, int vector,
                 std::int64_t of_links = 1);
/// The same of a kernel that does nothing but push `elements` to each other rank.
void choose_grid_of_pushes(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements,
                           int vector);

/// The most of what a kernel that waits for nobody takes of a GPU, to read and write memory at its full speed.
struct LocalGrid {
  std::int64_t threads;
  std::string why_threads;
  std::int64_t blocks_of_unit;
  std::string why_blocks;
  std::int64_t block_takes;  ///< elements at a time
};
/// `threads`, and as many `blocks` as have something of that many elements (nothing: unknown until the launch).
void choose_local_grid(const Request& request, KernelPlan& kernel, std::optional<std::int64_t> elements,
                       const LocalGrid& grid);

/// Whether one block takes a whole compute unit: the loops of fast_loops.hpp leave no room for another.
bool fills_compute_unit(const KernelPlan& kernel);

/// Checks `threads` and `blocks` against the target, and adds the second launch bound: how much of a compute unit the
/// grid needs to be resident as a whole.
void bound_grid(const Request& request, KernelPlan& kernel);

/// Checks `comm_blocks`, which have this `role`, against `blocks`: some are left to do the rest.
void check_comm_blocks(const Request& request, const KernelPlan& kernel, const std::string& role,
                       const std::string& rest);

/// `unroll`: accesses in flight for one thread (`unit` says of what), of which each keeps `arrays` registers' worth of
/// packs. Of more than `useful` nothing would come.
void choose_unroll(const Request& request, KernelPlan& kernel, int arrays, std::string unit = "accesses in flight",
                   std::int64_t useful = std::numeric_limits<std::int64_t>::max());

/// Flags of the kernel's barriers and `own` more, as device/signal.hpp counts them.
void add_flags(KernelPlan& kernel, std::int64_t own = 0);

/// Two ping-pong buffers of `slots` slots of product(shape) elements of `dtype` each, a slot rounded up to `alignment`
/// elements.
iris::ByteSize workspace_of(const Problem& problem, int slots, const std::vector<Dimension>& shape, Dtype dtype,
                            int alignment);

// --- Problems.

/// The product; nothing if an extent is dynamic.
std::optional<std::int64_t> static_count(const Problem& problem, const std::vector<Dimension>& shape);
/// What the extent, or its length at each launch, is a multiple of.
inline std::int64_t known_multiple(const iris::Extent& extent) {
  return extent.dynamic ? extent.multiple : extent.value;
}
/// A dimension of a problem as an extent of another one.
iris::Extent extent_of(const Problem& problem, const Dimension& dimension);
/// Of a static problem.
double length(const Problem& problem, std::string_view extent);
/// Bytes of a collective's m · n elements, on one rank; the problem is static.
double bytes_of_elements(const Problem& problem);

// --- Operations.

/// The buffers of a problem as one kernel takes them: aligned to so many bytes, those named on the symmetric heap.
std::vector<Argument> place(std::vector<Argument> arguments, int alignment,
                            std::initializer_list<std::string_view> symmetric);

/// An operation of one kernel that takes the problem's buffers and extents as they are.
Draft draft_of(KernelPlan kernel, InPlace in_place);

/// A launch of kernel number `kernel` of a draft, with all its dynamic extents.
iris::LaunchStep launch_of(const Draft& draft, int kernel, std::vector<std::string> buffers);

/// Makes a step of a draft one of a larger one, in which its kernels have these numbers.
void number_kernels(iris::Step& step, std::span<const int> numbers);

/// `12.3 µs`.
std::string microseconds(double value);

}  // namespace irisgen
