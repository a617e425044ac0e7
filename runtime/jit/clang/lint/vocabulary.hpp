#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <string>
#include <string_view>

/// device/'s functions as the rules see them: one table, vocabulary.cpp.
namespace iris::clang_library::lint {

/// Among whom a value, or who takes a branch, differs; a set.
enum Difference : unsigned { nobody = 0, threads = 1, blocks = 2, ranks = 4, from_arguments = 8 };

/// What memory a pointer leads to; peer_workspace is remote as well.
enum class Memory { unknown, remote, workspace, peer_workspace };

/// What a thread does to others by a call.
enum class Effect {
  none,
  sync,               ///< the block's threads meet
  sync_after_stores,  ///< and what they have stored is done
  signal,             ///< one thread publishes
  block_signal,       ///< the block publishes: sync_after_stores and signals
  wait,               ///< one thread waits
  block_wait,         ///< the block waits
  barrier,            ///< block_signal to all and block_wait for all
  main_loop,          ///< the block stores, signals and waits, by what it is given
};

inline constexpr int no_argument = -1;

/// A row of the table. Arguments count from 0, without the object of a member function.
struct Function {
  std::string_view name;        ///< in iris::device; of a member, Class::name
  int arguments = no_argument;  ///< of overloads, the one with so many
  Effect effect = Effect::none;
  bool outcome = false;    ///< returns whether the wait was not given up
  int flag = no_argument;  ///< what is signalled or waited for, and whom with
  int step = no_argument;
  int peer = no_argument;
  int loads = no_argument;          ///< the pointer that it reads through
  int stores = no_argument;         ///< the pointer that it writes through
  bool remote_loads = false;        ///< the rank is an argument: `loads` is this rank's address of what is read there
  bool remote_stores = false;       ///< so with `stores`
  bool atomic = false;              ///< `stores` or `loads` is atomic, its scope the template argument after the order
  bool iterates = false;            ///< calls what it is given differently often in each thread
  Memory result = Memory::unknown;  ///< a pointer to this
  int object = no_argument;         ///< this rank's pointer to the object that the result is on another rank
  int offset = no_argument;         ///< of the peer; the one of offset 0 is this rank
  unsigned differs = from_arguments;  ///< among whom the result does
};

/// The row of a function of device/; nullptr for the user's functions, and for those of device/ that need none.
const Function* find_function(const clang::FunctionDecl* function);

/// Whether it is the vocabulary's, with or without a row.
bool is_vocabulary(const clang::Decl* declaration);

/// Whether a block's threads have to come to it together.
bool is_of_whole_block(Effect effect);
/// Whether it stops until another rank has done something.
bool waits(Effect effect);

/// Among whom a data member of device/'s structs differs; from_arguments: as the object does.
unsigned difference_of(const clang::FieldDecl* field);

}  // namespace iris::clang_library::lint
