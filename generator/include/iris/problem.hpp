#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iris/dtype.hpp"

namespace iris {

/// The length of one dimension, in elements: a number known now, or an argument of every launch.
struct Extent {
  std::int64_t value = 1;  ///< where it is not dynamic
  bool dynamic = false;
  std::int64_t multiple = 1;  ///< where it is dynamic: each launch's is over 0, and a multiple of this
  bool operator==(const Extent&) const = default;
};

struct NamedExtent {
  std::string name = {};
  Extent extent = {};
  bool operator==(const NamedExtent&) const = default;
};

/// Lengths by name, such as a launch gives for the dynamic extents: `{{"m", 64}, {"n", 4096}}`.
class Extents {
 public:
  using Entry = std::pair<std::string, std::int64_t>;

  Extents() = default;
  Extents(std::initializer_list<Entry> entries) : entries_(entries) {}

  /// Throws std::out_of_range naming the extent if it is not there.
  std::int64_t at(std::string_view name) const;
  std::optional<std::int64_t> find(std::string_view name) const;
  void set(std::string_view name, std::int64_t value);

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool operator==(const Extents&) const = default;

 private:
  std::vector<Entry> entries_ = {};
};

/// "m = 5, n = 100", in the order of the names.
std::string to_string(const Extents& extents);

/// One dimension of a buffer: an extent times `factor`, divided by `divisor`, plus `offset`; the offset alone where it
/// names no extent; all that rounded up to a multiple. all_gather's output has {world·m, n}.
struct Dimension {
  std::string extent = {};
  std::int64_t factor = 1;
  std::int64_t divisor = 1;
  std::int64_t offset = 0;
  std::int64_t multiple = 1;
  bool operator==(const Dimension&) const = default;
};

/// In elements; the division is rounded down.
std::int64_t length_of(const Dimension& dimension, const Extents& extents);
/// Row-major dimensions of a buffer.
std::vector<std::int64_t> shape_of(const std::vector<Dimension>& shape, const Extents& extents);

/// What is to be computed, and nothing else. It stands in what the user wrote, in the Plan and in the Manifest alike,
/// and the reference result is a function of it alone.
struct Problem {
  std::string pattern = {};                      ///< all_reduce, all_gather_matmul …
  Dtype dtype = Dtype::f32;                      ///< of what is read
  Dtype accumulate = default_accumulate(dtype);  ///< that sums are taken in
  Dtype result = result_of(dtype);               ///< of what is written
  std::optional<Op> op = std::nullopt;           ///< of patterns that reduce
  std::optional<int> root = std::nullopt;        ///< of patterns that start from one rank
  std::string shard = {};  ///< the extent along which a matrix is divided among ranks, where that is a choice
  std::optional<Layout> layout_b = std::nullopt;  ///< of patterns that multiply
  int world = 1;                                  ///< number of ranks
  std::vector<NamedExtent> extents = {};          ///< in the pattern's order: m, n, k

  /// Throws std::out_of_range naming the extent if the problem has none of that name.
  const Extent& extent(std::string_view name) const;
  bool has_extent(std::string_view name) const;
  /// Whether every extent is known.
  bool is_static() const;
  /// Names of the dynamic extents, in the problem's order: the order in which launches pass them.
  std::vector<std::string> dynamic_extents() const;
  /// The static extents' lengths.
  Extents static_extents() const;
  /// The same problem with the dynamic extents as given; the others may be left out.
  Problem at(const Extents& given) const;

  bool operator==(const Problem&) const = default;
};

/// The dimension in elements; nothing where its extent is dynamic.
std::optional<std::int64_t> static_length(const Problem& problem, const Dimension& dimension);

/// The extents that tell kernels apart: all of them, but m of a collective over a plain vector (m = 1).
std::vector<NamedExtent> named_extents(const Problem& problem);

/// A buffer's shape on each rank: `(24, 85002)`, with the extents' names where they are dynamic, `(8·m, n)`, and
/// without an m of 1 that nobody wrote.
std::string describe_shape(const Problem& problem, const std::vector<Dimension>& shape);

/// The product of all extents, the dynamic ones as given: elements of a collective, multiply-adds of a matmul. What a
/// range of sizes is about. At most 2^63 - 1.
std::int64_t size_of(const Problem& problem, const Extents& given = {});

}  // namespace iris
