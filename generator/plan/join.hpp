#pragma once

#include <string>
#include <vector>

#include "generator/plan/choose.hpp"

/// Several ways to do one problem as one operation, of which each launch takes one.
namespace irisgen {

/// Whether one kernel serves both: their sources and what their launches need are the same, whatever part they are.
bool are_same(const KernelPlan& one, const KernelPlan& other);

/// Adds the buffers of a draft to `joined`; its kernels, their parts named after `name`, but for those that others have
/// brought already; and the schedules that launch them. Returns the numbers that its kernels have now.
std::vector<int> add_draft(Chosen& joined, const Draft& draft, std::vector<iris::Schedule> schedules,
                           const std::string& name);

/// What launches take whose extents are such multiples, of any length, and what all others do.
Chosen join_by_rows(const Chosen& of_multiples, const std::vector<iris::Bound>& multiples, Chosen others);

}  // namespace irisgen
