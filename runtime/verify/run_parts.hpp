#pragma once

#include <span>
#include <string>

#include "iris/run.hpp"

/// A run whose ranks are processes: each knows what became of its own part.
namespace iris {

/// Whether an element is further from what it must be than the worst before.
bool is_worse(const WorstElement& found, const WorstElement& worst);

/// One rank's part of a report, as bytes for the other processes.
std::string pack_part(const RunReport& report, int rank);

/// Makes of every rank's part the whole report: the counts, the worst element, what else was wrong, all outputs if they
/// are kept.
void merge_parts(std::span<const std::string> parts, RunReport& report);

}  // namespace iris
