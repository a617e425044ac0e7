#pragma once

#include "irisgen/plan.hpp"

/// Choices that the fused matmuls share.
namespace irisgen {

/// m divides among the ranks of every world.
void check_rows(const KernelSpec& kernel, Report& report);

/// Decides threads, tiles and vector, and checks that they fit each other and the target. Returns the vector.
int choose_tiles(Plan& plan);

/// Decides comm_blocks and blocks for `tiles` tiles of one rank's result (nothing: known only at launch).
void choose_roles(Plan& plan, std::string_view role);

/// Floating-point operations of (m,k)·(k,n), counted in f32 operations' time.
double matmul_flops(const KernelSpec& kernel);

/// Whether m, n and k are all known.
bool is_static(const KernelSpec& kernel);

/// Buffers of the kernel: a matrix of two extents, 16-byte aligned, in any memory.
Argument matrix(const Plan& plan, const char* name, Access access, Argument::Dimension rows,
                Argument::Dimension columns);

}  // namespace irisgen
