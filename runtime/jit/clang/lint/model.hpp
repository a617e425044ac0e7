#pragma once

#include <map>

#include "runtime/jit/clang/lint/addresses.hpp"
#include "runtime/jit/clang/lint/differences.hpp"
#include "runtime/jit/clang/lint/outcomes.hpp"
#include "runtime/jit/clang/lint/paths.hpp"
#include "runtime/jit/clang/lint/program.hpp"

namespace iris::clang_library::lint {

/// What the rules ask of a source, made once for all of them.
struct Model {
  explicit Model(clang::ASTContext& ast)
      : program(ast),
        outcomes(program),
        paths(paths_of(program, outcomes)),
        differences(program, paths),
        addresses(program) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  static std::map<const Unit*, Paths> paths_of(const Program& program, const Outcomes& outcomes) {
    std::map<const Unit*, Paths> paths;
    for (const auto& unit : program.units()) paths.emplace(unit.get(), Paths(*unit, outcomes));
    return paths;
  }

  Program program;
  Outcomes outcomes;
  std::map<const Unit*, Paths> paths;
  Differences differences;
  Addresses addresses;
};

}  // namespace iris::clang_library::lint
