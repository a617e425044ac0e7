#pragma once

#include "runtime/jit/clang/lint/findings.hpp"
#include "runtime/jit/clang/lint/model.hpp"

/// The rules, a file each in rules/. docs/lint.md says what each sees and what it does not.
namespace iris::clang_library::lint {

void check_remote_dereference(const Model& model, Findings& findings);
void check_unsynchronized_signal(const Model& model, Findings& findings);
void check_ignored_wait(const Model& model, Findings& findings);
void check_divergent_barrier(const Model& model, Findings& findings);
void check_divergent_exit(const Model& model, Findings& findings);
void check_mismatched_flag(const Model& model, Findings& findings);
void check_uneven_steps(const Model& model, Findings& findings);
void check_remote_scope(const Model& model, Findings& findings);
void check_volatile(const Model& model, Findings& findings);
void check_early_workspace_read(const Model& model, Findings& findings);

}  // namespace iris::clang_library::lint
