#pragma once

#include <optional>
#include <string>

#include "generator/cli/program.hpp"
#include "irisgen/spec.hpp"

namespace irisgen::cli {

/// Which rank of how many this process is, if a launcher started it: torchrun, mpirun, or start_ranks(). Throws a
/// sentence if what that says makes no sense.
struct OwnRank {
  int rank;
  int size;
};
std::optional<OwnRank> rank_of_this_process();

/// Leaves of a specification the worlds that so many processes can be. Throws UsageError if there are none.
void keep_world(Spec& spec, int processes);

/// start_ranks() for the one world of the specification in this file. Throws UsageError if it has several, or comes
/// from standard input.
ExitCode start_ranks_of(const Spec& spec, const std::string& file);

/// Runs the program's own command line in so many processes, each a rank, and waits for all. Rank 0 prints; what others
/// have to say of their failure is shown where rank 0 has none. Whatever ends this process ends them.
ExitCode start_ranks(int size);

}  // namespace irisgen::cli
