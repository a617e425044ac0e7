#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "irisgen/spec.hpp"

namespace irisgen::cli {

/// `ARG=PATTERN.npy` and `EXTENT=NUMBER` options: pairs by their first half.
using Assignments = std::map<std::string, std::string>;

/// Splits each at its first '='. Throws UsageError naming `option` for one without, or for a name given twice.
Assignments parse_assignments(const std::string& option, const std::vector<std::string>& texts);

/// Whether the problem leaves an extent of this name open.
bool is_dynamic(const Problem& problem, const std::string& extent);

/// Throws UsageError unless each of the extents that are given is one that a kernel, at least, leaves open.
void check_extents(const Spec& spec, const Assignments& given);

/// The length in `--extent NAME=NUMBER`. Throws UsageError.
std::int64_t parse_extent(const std::string& name, const std::string& text);

/// What `--extent NAME=SIZES` gives of a kernel's dynamic extents, in every combination; those of other kernels are
/// passed over. Nothing for a kernel of known shape, or where nothing is given. Throws UsageError for an extent that is
/// not given beside others, and for what cannot be read.
std::vector<Extents> extents_to_measure(const KernelSpec& kernel, const Assignments& given);

}  // namespace irisgen::cli
