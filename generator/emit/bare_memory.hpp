#pragma once

#include <string>
#include <vector>

#include "irisgen/plan.hpp"

namespace irisgen {

/// What a bare launcher calls one of its plan's kernels: `matmul`, or `kernel` where it is the only one.
std::string name_in_bare(const KernelPlan& kernel);

/// The class's `struct Layout`, and the function that says where in a rank's memory things lie: flags and counts of
/// launches, workspaces, intermediate buffers. The same order as in runtime/launch.
std::string bare_layout(const Plan& plan);

/// `capacity_m`: the most that launches give for a dynamic extent.
std::string capacity_of(const std::string& extent);

/// The dynamic extents that the layout follows from: those of workspaces and intermediate buffers.
std::vector<std::string> extents_with_capacity(const Plan& plan);

/// `(std::int64_t capacity_m, std::int64_t capacity_n)`, and `(capacity_m, capacity_n)`, of these.
std::string capacity_parameters(const Plan& plan);
std::string capacity_values(const Plan& plan);

}  // namespace irisgen
