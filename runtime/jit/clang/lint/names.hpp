#pragma once

#include <array>
#include <string_view>

/// The rules by name, for both sides of Clang's library.
namespace iris::clang_library {

struct RuleName {
  std::string_view name;
  std::string_view summary;  ///< one line: what is wrong
};

inline constexpr RuleName remote_dereference = {"iris-remote-dereference",
                                                "the memory of another rank is accessed by a plain * or []"};
inline constexpr RuleName unsynchronized_signal = {
    "iris-unsynchronized-signal", "a thread signals what its block has stored before the block has synchronised"};
inline constexpr RuleName ignored_wait = {"iris-ignored-wait",
                                          "a wait's outcome is ignored, and the kernel goes on after a time-out"};
inline constexpr RuleName divergent_barrier = {
    "iris-divergent-barrier", "not all threads, or not all ranks, come to what they have to pass together"};
inline constexpr RuleName divergent_exit = {"iris-divergent-exit",
                                            "threads of a warp leave a Launch at different places"};
inline constexpr RuleName mismatched_flag = {"iris-mismatched-flag",
                                             "a wait is for a flag, or a step of it, that no signal shows"};
inline constexpr RuleName uneven_steps = {"iris-uneven-steps",
                                          "steps do not count up, or ranks on different paths count them differently"};
inline constexpr RuleName remote_scope = {"iris-remote-scope",
                                          "an atomic of block or gpu scope on the memory of another rank"};
inline constexpr RuleName volatile_access = {"iris-volatile", "volatile in the place of an atomic or a signal"};
inline constexpr RuleName early_workspace_read = {"iris-early-workspace-read",
                                                  "the workspace is read before anything was waited for"};

inline constexpr std::array rule_names = {remote_dereference, unsynchronized_signal, ignored_wait, divergent_barrier,
                                          divergent_exit,     mismatched_flag,       uneven_steps, remote_scope,
                                          volatile_access,    early_workspace_read};

}  // namespace iris::clang_library
