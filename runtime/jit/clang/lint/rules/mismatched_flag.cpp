#include <algorithm>

#include "runtime/jit/clang/lint/chosen.hpp"
#include "runtime/jit/clang/lint/rules.hpp"

namespace iris::clang_library::lint {
namespace {

/// A signal or a wait as far as it is known.
struct Flagging {
  const clang::Expr* call = nullptr;
  const Function* row = nullptr;
  Sums flag = {};
  Sums step = {};
  std::optional<Sum> peer = {};
  bool has_peer = false;
  unsigned parted = nobody;        ///< among whom it differs whether it is come to
  bool chosen = false;             ///< a condition that is no loop's decides that
  std::set<Branch> branches = {};  ///< such conditions, those around the calls of its function among them
  bool is_called_once = true;      ///< from one place, by nothing of the vocabulary's
};

/// A flag of a wait against one of a signal.
enum class Match { equal, different, unknown };

class MismatchedFlags {
 public:
  MismatchedFlags(const Model& model, Findings& findings)
      : model_(model), findings_(findings), symbols_(model.program) {}

  void check(const std::set<const Unit*>& kernel) {
    std::vector<Flagging> signals;
    std::vector<Flagging> waits;
    for (const Unit* unit : kernel) {
      for_each_statement(*unit, [&](const clang::CFGBlock* block, const clang::Stmt* statement) {
        const Function* row = find_function(callee_of(statement));
        if (row == nullptr || row->flag == no_argument) return;
        auto& list = row->outcome ? waits : signals;
        list.push_back(flagging_of(*unit, block, llvm::cast<clang::Expr>(statement), *row));
      });
    }
    if (signals.empty()) return;  // copy engines, or another kernel
    for (const Flagging& wait : waits) check_wait(wait, signals);
  }

 private:
  Flagging flagging_of(const Unit& unit, const clang::CFGBlock* block, const clang::Expr* call, const Function& row) {
    const auto arguments = arguments_of(call);
    const auto sums = [&](int index) { return symbols_.of(arguments.at(static_cast<std::size_t>(index))); };
    Flagging found = {.call = call, .row = &row, .flag = sums(row.flag), .step = sums(row.step)};
    found.has_peer = row.peer != no_argument;
    if (found.has_peer) {
      const Sums peer = sums(row.peer);
      if (peer.size() == 1) found.peer = *peer.begin();
    }
    std::set<const Unit*> asked;
    add_branches(found, unit, block, asked);
    return found;
  }

  void add_branches(Flagging& found, const Unit& unit, const clang::CFGBlock* block, std::set<const Unit*>& asked) {
    const Paths& paths = model_.paths.at(&unit);
    for (const Branch& branch : paths.branches_to(block)) {
      if (paths.is_loop(branch.block)) continue;
      found.parted |= model_.differences.of(branch);
      found.chosen = true;
      found.branches.insert(branch);
    }
    if (!asked.insert(&unit).second) return;
    const std::vector<CallSite>& callers = model_.program.callers(unit);
    const bool is_given_away = !model_.program.takers(unit).empty() || model_.program.is_called_by_vocabulary(unit);
    found.is_called_once = found.is_called_once && callers.size() <= 1 && !is_given_away;
    for (const CallSite& site : callers) add_branches(found, *site.unit, site.block, asked);
  }

  void check_wait(const Flagging& wait, const std::vector<Flagging>& signals) {
    std::vector<const Flagging*> matching;
    for (const Flagging& signal : signals) {
      const Match match = compare(signal, wait);
      if (match == Match::unknown) return;
      if (match == Match::equal) matching.push_back(&signal);
    }
    if (!matching.empty()) {
      check_step(wait, matching);
      check_senders(wait, matching, "rank", ranks);
      check_senders(wait, matching, "block", blocks);
      return;
    }
    Diagnostic* finding = findings_.add(mismatched_flag, argument(wait, wait.row->flag)->getSourceRange(),
                                        "no signal of this kernel shows the flag that is waited for here");
    for (const Flagging& signal : signals) {
      findings_.note(finding, argument(signal, signal.row->flag)->getSourceRange(), "this is the flag of a signal");
    }
  }

  static const clang::Expr* argument(const Flagging& flagging, int index) {
    return arguments_of(flagging.call).at(static_cast<std::size_t>(index));
  }

  /// A signal of rank r to its peer, and a wait of that peer for r.
  static Match compare(const Flagging& signal, const Flagging& wait) {
    if (signal.flag.empty() || wait.flag.empty()) return Match::unknown;
    const unsigned parted = signal.parted | wait.parted;
    bool unknown = false;
    for (const Sum& shown : signal.flag) {
      for (const Sum& expected : wait.flag) {
        const std::optional<Sum> difference = difference_of(shown, signal, expected, wait);
        if (difference && *difference == Sum{}) return Match::equal;
        const bool other_block =
            shown.terms.contains("block") && (!expected.terms.contains("block") || (parted & blocks) != 0);
        unknown = unknown || !difference || other_block || !is_certain(*difference, parted);
      }
    }
    return unknown ? Match::unknown : Match::different;
  }

  /// In the terms of who waits: nothing where these do not suffice.
  static std::optional<Sum> difference_of(Sum shown, const Flagging& signal, Sum expected, const Flagging& wait) {
    constexpr const char* waiting = "waiting rank";
    if (!wait.peer) return std::nullopt;
    if (signal.has_peer) {
      if (!signal.peer) return std::nullopt;
      if (signal.peer->is_constant()) {
        expected = expected.with("rank", *signal.peer);
      } else if (const std::string peer = signal.peer->only_term(); !peer.empty() && peer != "rank") {
        shown = shown.with(peer, {.terms = {{waiting, 1}}});
      } else {
        return std::nullopt;
      }
    }
    shown = shown.with("rank", wait.peer->with("rank", {.terms = {{waiting, 1}}}));
    return shown.plus(expected.with("rank", {.terms = {{waiting, 1}}}), -1);
  }

  /// Whether a difference that is not zero as it is written is none whatever the quantities in it are, those of a block
  /// of the same index on another rank.
  static bool is_certain(const Sum& difference, unsigned parted) {
    return std::ranges::all_of(difference.terms, [&](const auto& term) {
      const bool of_rank = term.first == "waiting rank" || term.first.starts_with("peer(");
      return of_rank ? (parted & ranks) == 0 : term.first == "block" && (parted & blocks) == 0;
    });
  }

  /// A wait for more than any of the signals shows ends in a time-out.
  void check_step(const Flagging& wait, const std::vector<const Flagging*>& signals) {
    if (wait.step.size() != 1 || (wait.chosen && !wait.step.begin()->is_constant())) return;
    for (const Flagging* signal : signals) {
      if (signal->step.size() != 1) return;
      const Sum ahead = wait.step.begin()->plus(*signal->step.begin(), -1);
      const bool known = std::ranges::all_of(wait.step.begin()->terms, [](const auto& term) {
        return term.first.starts_with("loop(") || term.first.starts_with("param(");
      });
      if (!known || !ahead.is_constant() || ahead.constant <= 0) return;
    }
    Diagnostic* finding = findings_.add(mismatched_flag, argument(wait, wait.row->step)->getSourceRange(),
                                        "no signal of this kernel brings the flag to the step that is waited for here");
    for (const Flagging* signal : signals) {
      findings_.note(finding, argument(*signal, signal->row->step)->getSourceRange(), "this is the step of a signal");
    }
  }

  /// All wait for all, or for the next in a circle, or each block for its own: who does not signal is waited for as
  /// well. And a rank that signals all others does not signal itself.
  void check_senders(const Flagging& wait, const std::vector<const Flagging*>& signals, const std::string& quantity,
                     unsigned among) {
    if ((wait.parted & among) != 0 || !wait.is_called_once) return;
    const bool of_all = among == ranks ? is_of_all_ranks(wait) : has_term(wait.flag, quantity);
    const Flagging& first = *signals.front();
    for (const Branch& branch : first.branches) {
      const bool decides = std::ranges::all_of(signals, [&](const Flagging* signal) {
        return signal->is_called_once && signal->branches.contains(branch) &&
               !signal->branches.contains({branch.block, 1 - branch.successor});
      });
      const std::optional<Chosen> senders = decides ? chosen_by(branch, quantity, symbols_) : std::nullopt;
      if (!senders) continue;
      const bool of_itself = among == ranks && senders->only && wait.peer == senders->number &&
                             std::ranges::none_of(signals, &Flagging::has_peer);
      if (!of_all && !of_itself) continue;
      const std::string all = among == ranks ? "ranks" : "blocks";
      Diagnostic* finding = findings_.add(
          mismatched_flag, wait.call->getSourceRange(),
          of_all ? "of the " + all + " that are waited for here, some never signal"
                 : "the rank that signals all others waits here as well, for itself, which nobody signals");
      findings_.note(finding, first.call->getSourceRange(), "this is the signal");
      findings_.note(finding, condition_of(branch.block)->getSourceRange(), "this decides which " + all + " send it");
      return;
    }
  }

  /// Whether each rank is waited for by some rank.
  static bool is_of_all_ranks(const Flagging& wait) {
    if (!wait.peer) return false;
    const std::string peer = wait.peer->only_term();
    return peer.starts_with("peer(") || (peer.starts_with("loop(0,") && peer != "loop(0,<1)");
  }

  static bool has_term(const Sums& sums, const std::string& term) {
    return std::ranges::any_of(sums, [&](const Sum& sum) { return sum.terms.contains(term); });
  }

  const Model& model_;
  Findings& findings_;
  Symbols symbols_;
};

/// All that an entry calls, and what the vocabulary may call for it.
std::set<const Unit*> reached_from(const Program& program, const Unit& entry) {
  std::set<const Unit*> reached = {&entry};
  std::vector<const Unit*> open = {&entry};
  const auto add = [&](const Unit* unit) {
    if (unit != nullptr && reached.insert(unit).second) open.push_back(unit);
  };
  for (const auto& unit : program.units()) {
    if (program.is_called_by_vocabulary(*unit)) add(unit.get());
  }
  while (!open.empty()) {
    const Unit& unit = *open.back();
    open.pop_back();
    for_each_statement(unit, [&](const clang::CFGBlock*, const clang::Stmt* statement) {
      const clang::FunctionDecl* callee = callee_of(statement);
      if (callee == nullptr) return;
      add(program.find(callee));
      for (const clang::Expr* argument : arguments_of(statement)) {
        for (const clang::FunctionDecl* body : lambda_bodies(argument)) add(program.find(body));
      }
    });
  }
  return reached;
}

}  // namespace

void check_mismatched_flag(const Model& model, Findings& findings) {
  MismatchedFlags flags(model, findings);
  for (const auto& unit : model.program.units()) {
    if (model.program.is_entry(*unit)) flags.check(reached_from(model.program, *unit));
  }
}

}  // namespace iris::clang_library::lint
