#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "iris/manifest.hpp"
#include "irisgen/source_diagnostic.hpp"

namespace irisgen {

/// What is asked about the source of a user's kernel, or of its reference.
struct SourceQuestion {
  std::string folder;                ///< of the description
  std::string source;                ///< relative to it; its name in messages and in emitted files
  std::string entry;                 ///< qualified name of the function
  std::string config;                ///< `struct Config { … };` that a template is read with
  std::vector<std::string> extents;  ///< names of the problem's extents
  struct Buffer {
    std::string name;
    bool is_const;
  };
  std::vector<Buffer> buffers = {};        ///< of a reference: those of the kernel, which it may take
  std::vector<iris::Scalar> scalars = {};  ///< of a reference: the same
  std::vector<std::string> named = {};     ///< of a kernel: what the description's `arguments` name
};

/// One parameter of the entry after its Context, as its declaration says.
struct SourceParameter {
  std::string name;
  bool is_buffer = false;                       ///< a pointer; else an extent, or a scalar
  std::optional<iris::ScalarType> scalar = {};  ///< of a number by value that is no extent
  iris::Dtype dtype = iris::Dtype::f32;
  bool is_const = false;
  bool symmetric = false;    ///< IRIS_SYMMETRIC
  std::string comment = {};  ///< `\param NAME …` of the entry's comment
  std::string place = {};    ///< `halo.hip:12:3`
};

/// The Launch that a kernel makes of a configuration of its own, rather than of Config.
struct SourceLaunch {
  int world = 0;
  int blocks = 0;
  int threads = 0;
  std::string place;
};

/// What the source of a user's kernel says, and its text as it stands in an emitted file.
struct KernelSource {
  std::string entry;         ///< qualified
  std::string file;          ///< SourceQuestion::source
  bool takes_config = true;  ///< it is a template over Config
  std::vector<SourceParameter> parameters;
  std::vector<std::string> constants;  ///< members of Config that are used
  std::optional<SourceLaunch> launch;
  bool waits = false;
  std::int64_t flags = 0;                    ///< that flags<N>() asks for, beside those of barriers
  iris::ByteSize workspace;                  ///< one ping-pong buffer
  std::string comment;                       ///< of the entry, without what it says of parameters
  std::string place;                         ///< of the entry: `halo.hip:12:17`
  std::vector<std::string> device_includes;  ///< `iris/device/barrier.hpp`, in order
  std::vector<std::string> macros;           ///< that the text leaves defined
  std::string text;                          ///< without includes; #line directives name the user's files
  std::vector<std::string> files;            ///< that were read
};

/// A source that is wrong: what() is one sentence.
class SourceError : public std::runtime_error {
 public:
  SourceError(const std::string& sentence, std::vector<SourceDiagnostic> diagnostics)
      : std::runtime_error(sentence), diagnostics_(std::move(diagnostics)) {}
  /// All that the compiler says of it.
  const std::vector<SourceDiagnostic>& diagnostics() const { return diagnostics_; }
  /// The same as text.
  std::string rendered() const {
    std::string text;
    for (const SourceDiagnostic& diagnostic : diagnostics_) text += render(diagnostic);
    return text;
  }

 private:
  std::vector<SourceDiagnostic> diagnostics_;
};

/// What is asked about the source of a function within a pattern.
struct FunctionQuestion {
  std::string folder;    ///< of the description
  std::string source;    ///< relative to it; its name in messages and in emitted files
  std::string function;  ///< qualified name
  std::string type;      ///< of its values: f32, f64 or i32, which a template is made for
};

/// Reads kernels of the user's own. No code of a description runs while it is read.
class SourceReader {
 public:
  virtual ~SourceReader() = default;
  /// Throws SourceError; std::runtime_error with a remedy where there is nothing to read it with.
  virtual KernelSource read_kernel(const SourceQuestion& question) const = 0;
  /// The same of a reference, of which nothing is said that only kernels have.
  virtual KernelSource read_reference(const SourceQuestion& question) const = 0;
  /// The same of a function of values: its parameters have names and places alone.
  virtual KernelSource read_function(const FunctionQuestion& question) const = 0;
};

}  // namespace irisgen
