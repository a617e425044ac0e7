#pragma once

#include <string>
#include <string_view>

#include "irisgen/plan.hpp"

namespace irisgen {

/// How many streams and tensor maps a plan's launches need, and what else their code rests on.
struct StepNeeds {
  int streams = 0;  ///< beside the caller's
  bool copies = false;
  bool waits = false;     ///< of one stream for another
  bool portions = false;  ///< whose rows are known only at launch
  bool maps = false;
  bool tiles = false;  ///< whose number is known only at launch
  bool signals = false;
};
StepNeeds needs_of(const Plan& plan);

/// The body of a bare launcher's launch(): the steps of the schedule that serves its size, one after another. `api` is
/// what the runtime's names begin with: `hip`, `cuda`.
std::string bare_launch_body(const Plan& plan, std::string_view api);

/// `text` with the runtime's letters, `hip` or `cuda`, in the place of each `$`.
std::string with_api(std::string_view text, std::string_view api);

/// A statement that makes a call and returns what went wrong, with `$` as above.
std::string bare_step(const std::string& call, std::string_view api, std::string_view indent = "    ");

/// What the class calls a kernel's entry: `kernel`, `matmul_kernel`.
std::string entry_in_bare(const KernelPlan& kernel);

/// What the body calls a buffer or an extent: its own name, unless the body has another use for that.
std::string name_in_launch(const std::string& name);

}  // namespace irisgen
