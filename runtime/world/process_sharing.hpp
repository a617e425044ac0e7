#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "runtime/world/collectives.hpp"

/// What ranks that are processes hand over to one another, by the collective calls that they make anyway.
namespace iris {

/// As Collectives::hand_over. `absence` says why a rank of the world will give nothing any more; empty as long as it
/// may.
void hand_over_among_processes(Collectives& members, const CollectiveCall& call, const Collectives::Files& files,
                               const std::function<std::string(int rank)>& absence, const Collectives::TakeFiles& take);

/// As Collectives::share_memory: the first of them makes it, and hands it over.
std::shared_ptr<void> share_among_processes(Collectives& members, const CollectiveCall& call, std::size_t bytes);

}  // namespace iris
