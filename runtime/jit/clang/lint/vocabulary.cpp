#include "runtime/jit/clang/lint/vocabulary.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <array>

namespace iris::clang_library::lint {
namespace {

constexpr std::array functions = {
    // Who and where.
    Function{.name = "thread_index", .differs = threads},
    Function{.name = "block_index", .differs = blocks},
    Function{.name = "peer_at", .differs = ranks | from_arguments},
    Function{.name = "grid_threads", .differs = threads | blocks},
    Function{.name = "block_threads", .differs = threads},
    Function{.name = "on_rank", .result = Memory::remote, .object = 1},
    Function{.name = "heap_on_rank", .result = Memory::remote, .object = 1},
    Function{.name = "on_rank_in", .result = Memory::remote, .object = 2},
    Function{.name = "OnPeers::operator[]", .result = Memory::remote, .offset = 0},
    Function{.name = "Launch::workspace", .result = Memory::workspace, .differs = nobody},
    Function{.name = "workspace", .result = Memory::workspace, .differs = nobody},
    Function{.name = "flags", .differs = nobody},

    // A block meets.
    Function{.name = "sync_block", .effect = Effect::sync, .differs = nobody},
    Function{.name = "sync_block_and", .effect = Effect::sync, .differs = nobody},
    Function{.name = "sync_block_after_stores", .effect = Effect::sync_after_stores, .differs = nobody},

    // Signals and waits.
    Function{.name = "signal_release", .effect = Effect::signal, .flag = 1, .step = 2, .peer = 3},
    Function{.name = "block_signal_release", .effect = Effect::block_signal, .flag = 1, .step = 2, .peer = 3},
    Function{.name = "block_signal_release_all", .effect = Effect::block_signal, .flag = 1, .step = 2},
    Function{.name = "wait_acquire",
             .effect = Effect::wait,
             .outcome = true,
             .flag = 1,
             .step = 2,
             .peer = 3,
             .differs = threads},
    Function{.name = "block_wait_acquire",
             .effect = Effect::block_wait,
             .outcome = true,
             .flag = 1,
             .step = 2,
             .peer = 3,
             .differs = nobody},
    Function{.name = "has_come", .differs = threads},
    Function{.name = "pass_on", .effect = Effect::block_wait, .outcome = true, .differs = nobody},
    Function{.name = "same_block_barrier", .effect = Effect::barrier, .outcome = true, .differs = nobody},
    Function{.name = "BlockLock::acquire", .effect = Effect::block_wait, .outcome = true, .differs = nobody},
    Function{.name = "BlockLock::release", .effect = Effect::block_signal, .differs = nobody},
    Function{.name = "Mailbox::receive", .effect = Effect::wait, .outcome = true, .differs = threads},
    Function{.name = "Mailbox::receive_from", .effect = Effect::wait, .outcome = true, .differs = threads},
    Function{.name = "Mailbox::receive_after", .effect = Effect::wait, .outcome = true, .differs = threads},

    // Main loops.
    Function{.name = "multiply_tiles", .effect = Effect::main_loop, .differs = nobody},
    Function{.name = "push_and_multiply", .effect = Effect::main_loop, .differs = nobody},
    Function{.name = "push_rows", .effect = Effect::main_loop, .differs = nobody},

    // Accesses.
    Function{.name = "load", .arguments = 3, .loads = 1, .remote_loads = true},
    Function{.name = "load", .arguments = 2, .loads = 0},
    Function{.name = "store", .arguments = 4, .stores = 1, .remote_stores = true},
    Function{.name = "store", .arguments = 3, .stores = 0},
    Function{.name = "load_pack", .loads = 0},
    Function{.name = "store_pack", .stores = 0},
    Function{.name = "MessageLine::load", .loads = 0},
    Function{.name = "MessageLine::store", .stores = 0},
    Function{.name = "MessageInParts::load", .loads = 0},
    Function{.name = "MessageInParts::store", .stores = 0},
    Function{.name = "load_and_reduce", .loads = 0},
    Function{.name = "copy_elements", .loads = 0, .stores = 1},
    Function{.name = "get", .loads = 1, .stores = 2, .remote_loads = true},
    Function{.name = "put", .loads = 1, .stores = 2, .remote_stores = true},
    Function{.name = "copy", .loads = 1, .stores = 2, .remote_loads = true, .remote_stores = true},

    // Atomics. What they return is the data's, and differs as memory does.
    Function{.name = "atomic_load", .loads = 0, .atomic = true},
    Function{.name = "atomic_store", .stores = 0, .atomic = true},
    Function{.name = "atomic_xchg", .stores = 0, .atomic = true, .differs = threads | from_arguments},
    Function{.name = "atomic_cas", .stores = 0, .atomic = true, .differs = threads | from_arguments},
    Function{.name = "atomic_add", .stores = 0, .atomic = true, .differs = threads | from_arguments},
    Function{.name = "atomic_sub", .stores = 0, .atomic = true, .differs = threads | from_arguments},
    Function{.name = "atomic_and", .stores = 0, .atomic = true, .differs = threads | from_arguments},
    Function{.name = "atomic_or", .stores = 0, .atomic = true, .differs = threads | from_arguments},
    Function{.name = "atomic_xor", .stores = 0, .atomic = true, .differs = threads | from_arguments},
    Function{.name = "atomic_min", .stores = 0, .atomic = true, .differs = threads | from_arguments},
    Function{.name = "atomic_max", .stores = 0, .atomic = true, .differs = threads | from_arguments},

    // Loops over what a group of threads shares.
    Function{.name = "for_each_pack", .iterates = true},
    Function{.name = "for_each_pack_of_rows", .iterates = true},
    Function{.name = "for_each_pack_of_tile", .iterates = true},
};

struct Field {
  std::string_view name;
  unsigned differs;
};

constexpr std::array fields = {
    Field{"Context::rank", ranks},  Field{"Context::world", nobody},    Field{"Context::workspace", nobody},
    Field{"Context::bases", ranks}, Field{"ThreadGroup::size", nobody},
};

bool is_device_namespace(const clang::DeclContext* context) {
  const auto* inner = llvm::dyn_cast_or_null<clang::NamespaceDecl>(context);
  if (inner == nullptr || inner->getDeclName().isEmpty() || inner->getName() != "device") return false;
  const auto* outer = llvm::dyn_cast<clang::NamespaceDecl>(inner->getParent());
  return outer != nullptr && outer->getName() == "iris" && outer->getParent()->isTranslationUnit();
}

/// "load", "Mailbox::receive" or "OnPeers::operator[]"; empty for what is not directly in iris::device, or is the
/// user's.
std::string name_of(const clang::NamedDecl* declaration) {
  const clang::DeclarationName written = declaration->getDeclName();
  if (!written.isIdentifier() && written.getCXXOverloadedOperator() != clang::OO_Subscript) return {};
  const clang::DeclContext* context = declaration->getDeclContext();
  std::string name = declaration->getNameAsString();
  if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(context)) {
    name = record->getName().str() + "::" + name;
    context = record->getDeclContext();
  }
  return is_device_namespace(context) && is_vocabulary(declaration) ? name : std::string();
}

}  // namespace

bool is_vocabulary(const clang::Decl* declaration) {
  return declaration->getASTContext().getSourceManager().isInSystemHeader(declaration->getLocation());
}

const Function* find_function(const clang::FunctionDecl* function) {
  if (function == nullptr) return nullptr;
  const std::string name = name_of(function);
  if (name.empty()) return nullptr;
  const auto count = static_cast<int>(function->getNumParams());
  const auto* found = std::ranges::find_if(functions, [&](const Function& row) {
    return row.name == name && (row.arguments == no_argument || row.arguments == count);
  });
  return found == functions.end() ? nullptr : found;
}

bool is_of_whole_block(Effect effect) {
  return effect != Effect::none && effect != Effect::signal && effect != Effect::wait;
}

bool waits(Effect effect) {
  return effect == Effect::wait || effect == Effect::block_wait || effect == Effect::barrier ||
         effect == Effect::main_loop;
}

unsigned difference_of(const clang::FieldDecl* field) {
  if (!is_vocabulary(field)) return from_arguments;
  const std::string name = name_of(field);
  const auto* found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? unsigned{from_arguments} : found->differs;
}

}  // namespace iris::clang_library::lint
