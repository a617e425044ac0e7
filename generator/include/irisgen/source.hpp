#pragma once

#include <string>
#include <vector>

#include "iris/manifest.hpp"
#include "irisgen/plan.hpp"

namespace irisgen {

/// One kernel of an operation as HIP C++: banner, Config, the template's body and the entry, in a namespace of its own.
struct Source {
  std::string name;            ///< of its file: gradient_sum.w8.gfx942.hip
  std::string text;            ///< includes what it uses of device/ from an installed irisgen
  std::string self_contained;  ///< brings it along instead: what compilers are given
  std::string hash;            ///< SHA-256 of self_contained, hexadecimal
};

/// The sources of a plan, one for each of its kernels, in order. Pure: the same bytes from run to run and machine to
/// machine.
std::vector<Source> emit_sources(const Plan& plan);

/// The function that says what a user's kernel must come to, as C++ for the CPU, self-contained.
struct ReferenceSource {
  std::string name;  ///< of its file, in messages
  std::string text;
  std::string symbol;  ///< void(const i64* extents, f64* const* const* buffers): buffers[argument][rank], all of them
};

/// `reference` is what SourceReader::read_reference has read for the plan's problem.
ReferenceSource emit_reference(const Plan& plan, const KernelSource& reference);
/// What it is read with.
SourceQuestion question_of_reference(const Plan& plan);

/// The plan's functions of the user's own as C++ for the CPU, self-contained. Where the kernel computes in f32 they do
/// it in float64. `symbol`: void(i64 role, i64 count, i64 columns, const f64* a, const f64* b, const f64* const*
/// buffers, f64* results), role as FunctionRole: `results[i]` is the function of `a[i]`, an operation's of `a[i]` and
/// `b[i]`, an epilogue's of the elements that belong to result number i of a row-major matrix, too.
ReferenceSource emit_functions(const Plan& plan);

/// All that a launch of the plan needs. `sources` are the plan's own.
iris::Manifest make_manifest(const Plan& plan, const std::vector<Source>& sources);

}  // namespace irisgen
