#pragma once

#include <cstddef>

/// Between the runtime and libirisgen_clang.so, which is opened at run time so that a machine can do without Clang.
/// Plain structs and pointers: both sides may come from different compilers. No exception crosses it.
namespace iris::clang_library {

/// Changes whenever a struct below does.
inline constexpr int interface_version = 4;
inline constexpr const char* entry_name = "irisgen_clang_interface";

/// Text is UTF-8 and zero-terminated; all of it must outlive the call.
struct Request {
  const char* name;    ///< shown as the file's name in messages
  const char* source;  ///< self-contained; an #include finds nothing
  const char* symbol;  ///< of the kernel whose resources are reported
  const char* target;  ///< one of Interface::targets
  bool line_tables;    ///< of the source's lines, for `locate`; host only
  bool watch_stores;   ///< the code calls runtime/system/store_hook.hpp; with line tables only
};

/// What a compilation came to. Owned by the library until Interface::release.
struct Outcome {
  bool ok;
  const char* message;         ///< the errors, where not ok
  const unsigned char* bytes;  ///< where ok: of `compile` an ELF shared object, of `answer` JSON
  std::size_t size;
  int registers;  ///< -1: not known, here and below; see iris::Resources
  int scalar_registers;
  int shared_bytes;
  int spill_bytes;
};

struct Interface {
  int version;                          ///< interface_version of the library
  const char* compiler_version;         ///< full version of Clang
  const char* const* files;             ///< the libraries of Clang and LLVM that it uses; ends with nullptr
  const char* const* targets;           ///< ends with nullptr
  const char* (*options)(const char*);  ///< of a target, as one line; nullptr for an unknown one
  Outcome* (*compile)(const Request*);  ///< thread-safe; nullptr only when memory is exhausted
  /// A question about a source, JSON in and out: its `task` is a row of questions.cpp, where the rest of it is said.
  /// What is wrong with the source is part of the answer; not ok: the library itself has failed. Thread-safe; nullptr
  /// only when memory is exhausted.
  Outcome* (*answer)(const char* question);
  void (*release)(Outcome*);
};

using Entry = const Interface* (*)();

}  // namespace iris::clang_library
