#include "runtime/jit/clang/import/device_code.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DynamicRecursiveASTVisitor.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <string>

#include "runtime/jit/clang/import/shim.hpp"

namespace iris::clang_library::importing {
namespace {

constexpr const char* bounded_wait =
    "a wait of one's own ends for no reason but what it waits for; write if (!block_wait_acquire(launch, flag, step, "
    "peer, Wait::step)) return; its flags are those of flags<N>(launch), which count up by themselves";
constexpr std::string_view signal_header = "iris/device/signal.hpp";

/// Whether an expression looks at memory that others may change.
class Polls : public clang::DynamicRecursiveASTVisitor {
 public:
  bool found = false;

  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) override {
    const bool reads = cast->getCastKind() == clang::CK_LValueToRValue;
    found = found || (reads && cast->getSubExpr()->getType().isVolatileQualified());
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) override {
    found = found || (operation->getOpcode() == clang::UO_Deref && operation->getType().isVolatileQualified());
    return true;
  }
  bool VisitAtomicExpr(clang::AtomicExpr*) override { return !(found = true); }
  bool VisitCallExpr(clang::CallExpr* call) override { return note(call->getCallee()); }
  bool VisitOverloadExpr(clang::OverloadExpr* names) override { return note(names->getName().getAsString()); }

 private:
  bool note(const clang::Expr* callee) {
    const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(callee->IgnoreParenImpCasts());
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(callee->IgnoreParenImpCasts()))
      return note(member->getMemberDecl()->getNameAsString() == "load" ? "atomic" : "");
    return note(named == nullptr ? std::string() : named->getDecl()->getNameAsString());
  }
  bool note(const std::string& name) {
    found = found || name.starts_with("atomic") || name.find("acquire") != std::string::npos ||
            name.find("ld_flag") != std::string::npos || name.find("volatile") != std::string::npos;
    return true;
  }
};

bool polls(clang::Expr* condition) {
  Polls polls;
  if (condition != nullptr) polls.TraverseStmt(condition);
  return polls.found;
}

class DeviceCode : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit DeviceCode(Changes& changes) : changes_(changes) {}

  bool VisitMemberExpr(clang::MemberExpr* member) override {
    const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(member->getBase()->IgnoreParenImpCasts());
    if (named == nullptr) return true;
    note_index(*named, member->getMemberDecl()->getName(), member->getSourceRange());
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) override {
    const clang::ValueDecl* decl = reference->getDecl();
    if (!decl->getDeclName().isIdentifier()) return true;
    if (is_cooperative(*decl)) {
      changes_.add("import-group", decl->getNameAsString(), reference->getSourceRange(), group_remedy(decl->getName()));
      return true;
    }
    note_name(decl->getName(), reference->getSourceRange());
    return true;
  }
  bool VisitOverloadExpr(clang::OverloadExpr* names) override {
    if (names->getName().isIdentifier()) note_name(names->getName().getAsString(), names->getSourceRange());
    return true;
  }
  bool VisitAtomicExpr(clang::AtomicExpr* atomic) override {
    changes_.want_include("iris/device/atomics.hpp");
    changes_.add("import-atomic", "builtin", atomic->getSourceRange(),
                 "a builtin atomic: for a flag write signal_release() and block_wait_acquire(), else "
                 "atomic_load<Order::acquire>(address), atomic_store<Order::release>(address, value), "
                 "atomic_add(address, value) and their like, of the system's scope unless told otherwise");
    return true;
  }
  bool VisitGCCAsmStmt(clang::GCCAsmStmt* assembly) override {
    const std::string text = assembly->getAsmString();
    const Remedy& remedy = remedy_of_assembly(text);
    if (!remedy.include.empty()) changes_.want_include(remedy.include);
    changes_.add(remedy.rule, "asm " + std::string(remedy.name), assembly->getSourceRange(),
                 "inline assembly is for one target alone; " + std::string(remedy.text));
    return true;
  }
  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (variable->hasAttr<clang::CUDASharedAttr>()) note_shared(*variable);
    const clang::QualType type = variable->getType();
    if (type->isPointerType() && type->getPointeeType().isVolatileQualified())
      note_volatile(variable->getSourceRange());
    return true;
  }
  bool VisitExplicitCastExpr(clang::ExplicitCastExpr* cast) override {
    const clang::QualType type = cast->getTypeAsWritten();
    if (type->isPointerType() && type->getPointeeType().isVolatileQualified()) note_volatile(cast->getSourceRange());
    return true;
  }
  bool VisitWhileStmt(clang::WhileStmt* loop) override { return note_loop(loop->getCond()); }
  bool VisitDoStmt(clang::DoStmt* loop) override { return note_loop(loop->getCond()); }
  bool VisitForStmt(clang::ForStmt* loop) override { return note_loop(loop->getCond()); }

 private:
  static bool is_cooperative(const clang::Decl& decl) {
    for (const clang::DeclContext* scope = decl.getDeclContext(); scope != nullptr; scope = scope->getParent()) {
      const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(scope);
      if (space != nullptr && space->getName() == cooperative_groups) return llvm::isa<clang::FunctionDecl>(decl);
    }
    return false;
  }

  static std::string group_remedy(llvm::StringRef name) {
    if (name == "this_thread_block") return "'this_thread_block': write sync_block() for its sync()";
    if (name == "tiled_partition")
      return "'tiled_partition': the vocabulary has no warps; exchange values through shared<T>() and sync_block()";
    if (name == "sync") return "'sync': write sync_block() for a block; there is no barrier of a whole grid";
    return "'" + name.str() +
           "': there is no barrier of a whole grid; write if (!same_block_barrier(launch, Wait::arrival)) return; "
           "among blocks of one index on all ranks, flags among blocks that depend on one another, or two kernels. All "
           "blocks are resident without a cooperative launch";
  }

  void note_index(const clang::DeclRefExpr& variable, llvm::StringRef member, clang::SourceRange where) {
    if (!variable.getDecl()->getDeclName().isIdentifier()) return;
    const Remedy* remedy = remedy_of_index(variable.getDecl()->getName(), member);
    if (remedy == nullptr) return;
    const std::string name = (variable.getDecl()->getName() + "." + member).str();
    const llvm::StringRef text(remedy->text);
    changes_.add(*remedy, name, where, remedy->name.empty() ? "" : text.drop_front(6).str());
  }

  void note_name(llvm::StringRef name, clang::SourceRange where) {
    if (const Remedy* remedy = remedy_of(name)) changes_.add(*remedy, name.str(), where);
  }

  void note_volatile(clang::SourceRange where) {
    changes_.want_include(signal_header);
    changes_.add("import-volatile", "", where,
                 "volatile orders nothing among ranks; for a flag write flags<N>(launch), signal_release() and "
                 "block_wait_acquire(), for data load() and store()");
  }

  void note_shared(const clang::VarDecl& variable) {
    const std::string name = variable.getNameAsString();
    const bool open = variable.getType()->isIncompleteArrayType() || variable.hasExternalStorage();
    changes_.add("import-shared", name, variable.getSourceRange(),
                 open ? "'" + name +
                            "' gets its size at launch; give it one by a constant of Config, in a struct: "
                            "struct Tile { f32 values[Config::elements]; }; Tile& tile = shared<Tile>();"
                      : "write a struct with '" + name + "' in it, struct Tile { … }; Tile& tile = shared<Tile>();");
  }

  bool note_loop(clang::Expr* condition) {
    if (!polls(condition)) return true;
    changes_.want_include(signal_header);
    changes_.add("import-wait", "", condition->getSourceRange(), bounded_wait);
    return true;
  }

  Changes& changes_;
};

}  // namespace

void find_changes_in(const clang::FunctionDecl& function, Changes& changes) {
  DeviceCode(changes).TraverseStmt(function.getBody());
}

}  // namespace iris::clang_library::importing
