#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "iris/code_object.hpp"
#include "irisgen/target.hpp"

namespace iris {

/// One source of one kernel, self-contained, for one target.
struct CompileRequest {
  std::string name = {};  ///< shown as the file's name in messages: gradient_sum.w8.gfx942.hip
  std::string source = {};
  std::string symbol = {};  ///< of the entry, whose resources are reported
  const irisgen::Target* target = nullptr;
  bool line_tables = false;   ///< for source_locator(): on host, where the source is a user's
  bool watch_stores = false;  ///< for StoreWatch, with line tables
};

/// What a compiler said, each line `name:line:column: error: …` with the quoted source line.
class CompileError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A compiler on this machine. Thread-safe. Holds no state between calls that could change a result.
class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual std::string_view name() const = 0;                     ///< clang, hiprtc, nvrtc
  virtual std::string version() const = 0;                       ///< part of the cache's key
  virtual std::vector<std::string> files() const { return {}; }  ///< the libraries that it is made of; empty: not told
  virtual std::vector<std::string> targets() const = 0;          ///< those of irisgen::targets() that it can compile
  virtual std::string options(const irisgen::Target& target) const = 0;  ///< part of the cache's key
  /// Throws CompileError; never ends the process, whatever the source.
  virtual CodeObject compile(const CompileRequest& request) const = 0;
};

/// Why a compiler is not there, and the package that brings it.
struct MissingCompiler {
  std::string name;
  std::string reason;
  std::string remedy;
};

/// Names that a compiler can have, whether or not it is on this machine.
const std::vector<std::string_view>& compiler_names();

/// The compilers of this machine, found once. All are opened at run time; none is linked.
struct Compilers {
  std::vector<std::shared_ptr<const Compiler>> present;
  std::vector<MissingCompiler> missing;

  static const Compilers& instance();

  /// The one for a target (hiprtc before clang for AMD), or the one named `preferred`. Throws std::runtime_error with a
  /// sentence that says what to install.
  const Compiler& find(const irisgen::Target& target, std::string_view preferred = {}) const;
};

/// Compilers::instance().find(), but opens no more of the compilers than it has to.
const Compiler& find_compiler(const irisgen::Target& target, std::string_view preferred = {});

}  // namespace iris
