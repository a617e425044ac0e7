#include "runtime/jit/clang/lint/accesses.hpp"
#include "runtime/jit/clang/lint/rules.hpp"
#include "runtime/jit/clang/lint/walk.hpp"

namespace iris::clang_library::lint {
namespace {

/// Whether on some way to here the rank waited for others, or wrote to a workspace itself.
struct Filled {
  bool waited = false;
  bool stored = false;  ///< to its own
  bool sent = false;    ///< to a peer's
  auto operator<=>(const Filled&) const = default;

  bool join(const Filled& other) {
    const Filled before = *this;
    waited = waited || other.waited;
    stored = stored || other.stored;
    sent = sent || other.sent;
    return *this != before;
  }
};

class ReadWatcher : public Watcher<Filled> {
 public:
  explicit ReadWatcher(const Model& model) : model_(model) {}

  /// Reads before anything has been waited for, with the branches that lead there.
  std::map<const clang::Expr*, Position> early;

  void see(const clang::Stmt* statement, const Position& position, Filled& state) override {
    if (const Function* row = find_function(callee_of(statement))) {
      if (waits(row->effect)) state.waited = true;
      const Whose written = whose(statement, row->stores, row->remote_stores);
      state.stored = state.stored || written == Whose::mine;
      state.sent = state.sent || written == Whose::peers;
    }
    const auto access = plain_access(*position.unit, statement);
    if (access && access->stores && model_.addresses.leads_to(access->pointer, Memory::workspace)) state.stored = true;
  }

  void judge(const clang::Stmt* statement, const Position& position, const Filled& state) override {
    if (state.waited || state.stored) return;
    if (const Function* row = find_function(callee_of(statement))) {
      const Whose read = whose(statement, row->loads, row->remote_loads);
      // What was sent to a peer may be read back from there, and a peer may be this rank.
      if (read == Whose::mine || (read == Whose::peers && !state.sent))
        early.try_emplace(llvm::cast<clang::Expr>(statement), position);
    }
    const auto access = plain_access(*position.unit, statement);
    if (access && access->loads && model_.addresses.leads_to(access->pointer, Memory::workspace)) {
      early.try_emplace(access->access, position);
    }
  }

 private:
  /// Whose workspace a call accesses.
  enum class Whose { nobodys, mine, peers };

  /// Through that argument, which is an address of this rank's if it is `remote`.
  Whose whose(const clang::Stmt* call, int argument, bool remote) const {
    const auto arguments = arguments_of(call);
    const auto index = static_cast<std::size_t>(argument);
    if (argument == no_argument || index >= arguments.size()) return Whose::nobodys;
    if (model_.addresses.leads_to(arguments[index], Memory::peer_workspace)) return Whose::peers;
    if (!model_.addresses.leads_to(arguments[index], Memory::workspace)) return Whose::nobodys;
    return remote ? Whose::peers : Whose::mine;
  }

  const Model& model_;
};

/// Whether only loops decide that a place is come to: then its first pass is one that a launch makes.
bool is_straight(const Model& model, const Position& position) {
  return std::ranges::all_of(position.branches, [&](const Branch& branch) {
    return std::ranges::any_of(model.paths, [&](const auto& one) { return one.second.is_loop(branch.block); });
  });
}

}  // namespace

void check_early_workspace_read(const Model& model, Findings& findings) {
  ReadWatcher always(model);
  ReadWatcher first(model);
  for (const auto& unit : model.program.units()) {
    if (!model.program.is_entry(*unit)) continue;
    Walk<Filled>(model, always, false).run(*unit, {});
    Walk<Filled>(model, first, true).run(*unit, {});
  }
  for (const auto& [read, position] : first.early) {
    // In a loop that waits further down, a condition may well keep the first pass from it.
    if (!always.early.contains(read) && !is_straight(model, position)) continue;
    findings.add(
        early_workspace_read, read->getSourceRange(),
        "the workspace is read before this launch has waited for anything: what lies there is an older launch's, or "
        "half of this one's; wait for the ranks that write to it");
  }
}

}  // namespace iris::clang_library::lint
