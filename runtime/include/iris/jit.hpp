#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iris/cache.hpp"
#include "iris/compiler.hpp"
#include "iris/operation.hpp"
#include "irisgen/plan.hpp"
#include "irisgen/source.hpp"
#include "irisgen/spec.hpp"
#include "irisgen/tuning.hpp"

namespace iris {

class Group;

/// From the cache, or compiled and kept there. Throws CompileError.
CodeObject build(const CompileRequest& request, const Compiler& compiler, Cache& cache);

/// What each kernel of a plan becomes on its way to a compiler: its self-contained source.
std::vector<CompileRequest> make_requests(const irisgen::Plan& plan, const std::vector<irisgen::Source>& sources);

/// Plan to operation, ready for any World of its target. `compiler` names one (clang, hiprtc, nvrtc), or is empty for
/// the target's own. Throws CompileError; std::runtime_error with a sentence that says what to install if there is no
/// compiler for the target.
BuiltOperation build_operation(const irisgen::Plan& plan, std::string_view compiler = {},
                               Cache& cache = Cache::of_user());

/// The same for StoreWatch: slower code, which tells of its stores. Of kernels of the user's own, for the CPU; throws
/// std::invalid_argument for others.
BuiltOperation build_watched_operation(const irisgen::Plan& plan, Cache& cache = Cache::of_user());

struct JitOptions {
  std::string kernel = {};    ///< of a description with several: its name
  Extents capacity = {};      ///< bounds the dynamic extents
  std::string compiler = {};  ///< as for build_operation
  /// The tables that `auto` asks before its model: those of the user who runs rank 0 (tuning_of_user) if nothing is
  /// said, none if they are empty.
  std::optional<std::vector<irisgen::TuningTable>> tuning = {};
};

/// A kernel described at run time, planned and compiled for the group's size and target, and loaded: ready to be
/// launched. Collective, as Operation's constructor is; the group's rank 0 reads, plans and compiles for all. Throws on
/// every rank what rank 0 met: irisgen::SpecError for a wrong description, CompileError, or a sentence. On other ranks
/// than 0 all of these are std::runtime_error with the same words.
///
/// The description is a text (YAML or JSON), which must list the group's size among the kernel's worlds, or a
/// KernelSpec, whose worlds may be left empty.
Operation jit(Group& group, std::string_view description, const JitOptions& options = {});
Operation jit(Group& group, const irisgen::KernelSpec& description, const JitOptions& options = {});
/// The same from a file.
Operation jit_file(Group& group, const std::string& path, const JitOptions& options = {});

/// A barrier of the group's ranks on their devices, which a graph can capture: an Operation without buffers. What any
/// of them has enqueued in the stream before its launch, on whichever rank's memory, is done and seen by what follows
/// the launch on every one. Nobody's host waits. Collective, as jit() is. `timeout_ms` bounds the wait: synchronize()
/// throws who waited for whom.
Operation device_barrier(Group& group, int timeout_ms = 10'000);

}  // namespace iris
