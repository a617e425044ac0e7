#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace iris {

/// Types of elements. Two are of the operands of products alone. tf32 is f32 in memory, which products read to 10 bits
/// of fraction, rounded to nearest even. e4m3 is the 8-bit float of the OCP specification (E4M3: no infinity, 448 at
/// most); each operand then has a scale.
enum class Dtype { f64, f32, tf32, f16, bf16, e4m3, i32 };
inline constexpr std::array all_dtypes = {Dtype::f64,  Dtype::f32,  Dtype::tf32, Dtype::f16,
                                          Dtype::bf16, Dtype::e4m3, Dtype::i32};

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

/// The type of what lies in memory.
constexpr Dtype stored_dtype(Dtype dtype) {
  return dtype == Dtype::tf32 ? Dtype::f32 : dtype;
}

/// Whether only products read such elements.
constexpr bool is_of_operands(Dtype dtype) {
  return dtype == Dtype::tf32 || dtype == Dtype::e4m3;
}

/// The type in which elements are summed unless a description says otherwise: f32 for floats of fewer bits, else their
/// own.
constexpr Dtype default_accumulate(Dtype dtype) {
  return dtype == Dtype::f64 || dtype == Dtype::i32 ? dtype : Dtype::f32;
}

/// The type of what is computed from elements: f32 for tf32, bf16 for e4m3, else their own.
constexpr Dtype result_of(Dtype dtype) {
  if (dtype == Dtype::tf32) return Dtype::f32;
  return dtype == Dtype::e4m3 ? Dtype::bf16 : dtype;
}

}  // namespace iris
