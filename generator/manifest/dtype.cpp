#include "iris/dtype.hpp"

#include <algorithm>

namespace iris {
namespace {

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  std::int64_t bytes;
};

// In the order of the enumeration.
constexpr std::array dtypes = {
    DtypeRow{Dtype::f64, "f64", 8}, DtypeRow{Dtype::f32, "f32", 4},   DtypeRow{Dtype::tf32, "tf32", 4},
    DtypeRow{Dtype::f16, "f16", 2}, DtypeRow{Dtype::bf16, "bf16", 2}, DtypeRow{Dtype::e4m3, "e4m3", 1},
    DtypeRow{Dtype::i32, "i32", 4},
};
static_assert(dtypes.size() == all_dtypes.size());

constexpr std::array<std::string_view, all_ops.size() + 1> ops = {"sum", "max", "min", "prod", "function"};
constexpr std::array<std::string_view, all_layouts.size()> layouts = {"kn", "nk"};

template <typename Enumeration, typename Names>
std::optional<Enumeration> value_of(const Names& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enumeration>(found - names.begin());
}

const DtypeRow& row_of(Dtype dtype) {
  return dtypes.at(static_cast<std::size_t>(dtype));
}

}  // namespace

std::string_view to_string(Dtype dtype) {
  return row_of(dtype).name;
}

std::int64_t bytes_of(Dtype dtype) {
  return row_of(dtype).bytes;
}

std::optional<Dtype> dtype_from(std::string_view name) {
  const auto* row = std::ranges::find(dtypes, name, &DtypeRow::name);
  if (row == dtypes.end()) return std::nullopt;
  return row->dtype;
}

std::string_view to_string(Op op) {
  return ops.at(static_cast<std::size_t>(op));
}

std::optional<Op> op_from(std::string_view name) {
  return value_of<Op>(ops, name);
}

std::string_view to_string(Layout layout) {
  return layouts.at(static_cast<std::size_t>(layout));
}

std::optional<Layout> layout_from(std::string_view name) {
  return value_of<Layout>(layouts, name);
}

}  // namespace iris
