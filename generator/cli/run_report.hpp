#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "iris/operation.hpp"
#include "iris/run.hpp"

namespace irisgen::cli {

/// What one kernel's run came to, and what went before it.
struct RunOutcome {
  iris::BuiltOperation built;
  iris::RunReport report;
  int launches = 1;
  bool has_reference = true;  ///< that says what is right
  double build_ms = 0;        ///< source to code object, the cache included
};

/// Lines for people, on standard output.
void print_outcome(const RunOutcome& outcome);

nlohmann::ordered_json to_json(const RunOutcome& outcome);

}  // namespace irisgen::cli
