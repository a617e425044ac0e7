#pragma once

#include <string>
#include <vector>

#include "generator/plan/choose.hpp"

/// Several ways to do one problem as one operation, of which each launch takes one.
namespace irisgen {

/// Adds the buffers and kernels of a draft to others', its kernels' parts named after `name`; not its steps.
void add_draft(Draft& joined, const Draft& draft, const std::string& name);

/// What launches take whose extents are such multiples, of any length, and what all others do.
Chosen join_by_rows(const Chosen& of_multiples, const std::vector<iris::Bound>& multiples, Chosen others);

}  // namespace irisgen
