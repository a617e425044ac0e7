#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iris/operation.hpp"
#include "iris/reference.hpp"
#include "iris/values.hpp"

namespace iris {

/// One buffer per rank, as bytes of the argument's dtype.
using BuffersOfRanks = std::vector<std::vector<std::byte>>;

struct RunOptions {
  Extents extents = {};    ///< every dynamic extent; the others may be left out
  Scalars scalars = {};    ///< every number that the kernel takes by value
  std::uint64_t seed = 0;  ///< of the data that is not given, and of the host's order of execution
  int repeat = 1;          ///< launches; data that is not given differs from launch to launch
  bool verify = true;      ///< against the reference, every element of every rank and launch
  /// What results must be; null: what their pattern says, and nothing verifies a kernel of the user's own.
  std::shared_ptr<const Reference> reference = nullptr;
  /// This process is one rank, and runs, gives inputs to and verifies that alone (World::join). Collective: all say the
  /// same. The report is of all ranks, and the same in all processes but for times.
  bool processes = false;
  bool keep_outputs = true;                           ///< RunReport::outputs with contents, which processes exchange
  bool in_place = false;                              ///< the output in the memory of the input, as the manifest allows
  std::size_t heap_bytes = 0;                         ///< of each rank; 0: as much as the run needs
  std::map<std::string, BuffersOfRanks> inputs = {};  ///< by argument; one that is absent gets random data

  /// Builds the same operation so that its stores can be watched (build_watched_operation). Where it is given and a
  /// result is wrong, all is run once more in the same order, to tell who stored the worst element.
  std::function<BuiltOperation()> build_watched = {};

  /// Called now and then from the calling thread: what is going on ("launch", "verify"), how much of it is done.
  std::function<void(std::string_view stage, int done, int total)> progress = {};
};

/// The element furthest from what it must be, against its tolerance, of all ranks and launches.
struct WorstElement {
  std::size_t output = 0;  ///< of RunReport::outputs
  int launch = 0;
  int rank = 0;
  Comparison element;
};

/// An argument that is written or updated, after the last launch.
struct RunOutput {
  std::string name;
  std::vector<std::int64_t> shape;  ///< on each rank
  BuffersOfRanks content;           ///< empty where that was not asked for
};

struct RunReport {
  std::string device;         ///< of rank 0
  bool verified = false;      ///< false if that was not asked for, or nothing says what is right
  bool passed = true;         ///< nothing was wrong with what was verified
  std::int64_t elements = 0;  ///< that were compared
  std::int64_t wrong = 0;     ///< of them, over their tolerance
  WorstElement worst;
  bool watched = false;                             ///< stores to the worst element were, because it is wrong
  std::optional<StoreWatch::Store> stored_by = {};  ///< where watched; nothing: no kernel stored it
  /// What else was wrong: "memory next to 'output' of rank 2 (launch 0) was overwritten".
  std::vector<std::string> violations;

  std::vector<RunOutput> outputs;  ///< in the order of the arguments

  double setup_ms = 0;   ///< devices, heap, loading
  double launch_ms = 0;  ///< from the first launch to the end of the last, waits of the host included
  double verify_ms = 0;
};

/// Makes a World for the manifest's target and size, gives every rank its inputs, poisons the outputs, launches and
/// verifies. Launches follow one another without the host waiting in between, a few at a time, so that one's end and
/// the next one's start overlap as they do in real programs. Throws a sentence if an input has the wrong size or the
/// operation cannot be launched, times out or deadlocks; wrong results are reported, not thrown.
RunReport run_operation(const BuiltOperation& built, const RunOptions& options);

}  // namespace iris
