#pragma once

#include <memory>
#include <span>
#include <string>

#include "runtime/host/engine.hpp"
#include "runtime/host/grid.hpp"

namespace iris::host {

/// Says who waits for whom, when no thread of these grids can go on: the headline, then a line for each group of blocks
/// that wait for the same thing, then one for each rank that runs no kernel and what it does instead. Bounded in
/// length. `locate` may be empty.
std::string describe_deadlock(const std::string& headline, std::span<const std::unique_ptr<Grid>> grids,
                              std::span<const RankActivity> ranks, const SourceLocator& locate);

}  // namespace iris::host
