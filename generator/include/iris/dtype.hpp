#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace iris {

/// Types of elements. e4m3 is the 8-bit float of the OCP specification (E4M3: no infinity, 448 at most), of the
/// operands of products alone, each of which then has a scale.
enum class Dtype { f64, f32, f16, bf16, e4m3, i32 };
inline constexpr std::array all_dtypes = {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::i32};

/// How a reduction combines elements; by `function` as one of the user's own says.
enum class Op { sum, max, min, prod, function };
/// Those that have names of their own.
inline constexpr std::array all_ops = {Op::sum, Op::max, Op::min, Op::prod};

/// How the second operand of a product lies in memory: as (k,n), or as (n,k), the order in which frameworks keep
/// weights; row-major either way.
enum class Layout { kn, nk };
inline constexpr std::array all_layouts = {Layout::kn, Layout::nk};

std::string_view to_string(Dtype dtype);
std::string_view to_string(Op op);
std::string_view to_string(Layout layout);
/// Nothing if there is none of that name.
std::optional<Dtype> dtype_from(std::string_view name);
std::optional<Op> op_from(std::string_view name);
std::optional<Layout> layout_from(std::string_view name);

/// Of one element.
std::int64_t bytes_of(Dtype dtype);

/// The type in which elements are summed unless a description says otherwise: f32 for floats of 16 bits and fewer, else
/// their own.
constexpr Dtype default_accumulate(Dtype dtype) {
  return dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::e4m3 ? Dtype::f32 : dtype;
}

/// The type of what is computed from elements: bf16 for e4m3, else their own.
constexpr Dtype result_of(Dtype dtype) {
  return dtype == Dtype::e4m3 ? Dtype::bf16 : dtype;
}

}  // namespace iris
