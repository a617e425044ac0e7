#pragma once

#include <string>
#include <string_view>

#include "iris/dtype.hpp"
#include "irisgen/target.hpp"

namespace irisgen {

/// What a buffer can be filled with: the templates of templates/fill/, which say what an entry takes behind the buffer
/// and the number of its elements.
enum class FillKind {
  constant,  ///< f64 value
  arange,    ///< f64 start, f64 step
  linspace,  ///< f64 start, f64 end, f64 step
  uniform,   ///< u64 seed, u64 sequence
  normal,    ///< u64 seed, u64 sequence
  integers,  ///< i64 low, u64 range, u64 seed, u64 sequence
};
/// As its template is called.
std::string_view to_string(FillKind kind);

/// A kernel without a Context, that any number of threads makes right.
struct FillSource {
  std::string symbol;  ///< fill_normal_bf16
  std::string name;    ///< of its file, in messages
  std::string text;    ///< self-contained
  int threads;         ///< of a block
  int blocks;
};

/// Pure. For the types that the kind's numbers exist in: not i32 for linspace, uniform and normal.
FillSource emit_fill(FillKind kind, iris::Dtype dtype, const Target& target);

}  // namespace irisgen
