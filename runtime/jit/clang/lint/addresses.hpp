#pragma once

#include <map>
#include <set>

#include "runtime/jit/clang/lint/program.hpp"

namespace iris::clang_library::lint {

/// Where pointers lead. A variable leads where all that is assigned to it does; a parameter to another rank if any
/// call's argument does, and to the workspace, this rank's or a peer's, if all do; members of structs are not followed.
class Addresses {
 public:
  explicit Addresses(const Program& program);

  bool leads_to(const clang::Expr* pointer, Memory memory) const;

 private:
  using Places = std::set<Memory>;  ///< empty: elsewhere, or not known

  Places of(const clang::Expr* expression) const;
  Places of_call(const clang::Expr* call) const;
  /// What OnPeers holds of that offset.
  Places of_peer(const clang::Expr* offset) const;
  void learn(const clang::Stmt* statement, std::map<const clang::ValueDecl*, std::vector<Places>>& written) const;
  bool learn_calls();

  const Program& program_;
  std::map<const clang::ValueDecl*, Places> variables_;
  std::map<const Unit*, Places> results_;
};

}  // namespace iris::clang_library::lint
