#pragma once

#include <clang/AST/Decl.h>

#include <string>
#include <vector>

namespace iris::clang_library::importing {

/// What a parameter of a plain kernel is for, by its type, its name and what the kernel does with it.
struct Parameter {
  enum class Kind {
    buffer,   ///< memory of this rank
    peers,    ///< pointers to the memory of all ranks
    flags,    ///< what ranks tell one another by
    rank,     ///< this rank's number
    world,    ///< how many there are
    counter,  ///< of launches, which flags need
    extent,   ///< how much there is of something
    scalar,   ///< another number, by value
    other,
  };
  const clang::ParmVarDecl* decl = nullptr;
  std::string name = {};
  Kind kind = Kind::other;
  std::string element =
      {};  ///< of buffers and peers, as descriptions and `typename Config::Element` call it; else empty
  bool reads = false;
  bool writes = false;
  bool updates = false;  ///< by what takes account of what was there: +=, an atomic

  bool is_memory() const { return kind == Kind::buffer || kind == Kind::peers; }
  /// `read`, `write` or `update`, as a description says it.
  std::string access() const;
  /// As the entry of a kernel on the symmetric heap has it; empty where it has none.
  std::string declaration() const;
};

/// As a description calls the type of an element; `Element` for what only a launch decides, empty for what buffers
/// cannot hold.
std::string element_of(clang::QualType type);

/// As the entry of a kernel calls the type of a number by value that is no extent.
std::string scalar_type_of(clang::QualType type);

/// Whether a number of that name is how many ranks there are.
bool is_world(const std::string& name);

/// Of `kernel`, given all functions that it reaches.
std::vector<Parameter> parameters_of(const clang::FunctionDecl& kernel,
                                     const std::vector<const clang::FunctionDecl*>& reached);

}  // namespace iris::clang_library::importing
