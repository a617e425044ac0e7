#pragma once

#include <clang/Basic/SourceLocation.h>
#include <clang/Basic/SourceManager.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/jit/clang/diagnostics.hpp"
#include "runtime/jit/clang/read/placement.hpp"

namespace clang {
class LangOptions;
class Preprocessor;
}  // namespace clang

namespace iris::clang_library {

/// An `#include` that the preprocessor has followed.
struct Inclusion {
  bool of_vocabulary = false;  ///< <iris/device/…>
  std::string path;            ///< as written
  clang::FileID file;          ///< what it brought; invalid where it was there already
  std::string name;            ///< of that file, as messages show it
};

/// What the preprocessor does with the user's own files.
class Inclusions {
 public:
  /// Before the first line is read.
  void observe(clang::Preprocessor& preprocessor);

  /// By file and offset of the `#`.
  const Inclusion* at(clang::FileID file, unsigned offset) const;
  Inclusion& add(clang::FileID file, unsigned offset) { return found_[{file, offset}]; }
  Inclusion* last() { return last_; }
  void set_last(Inclusion* inclusion) { last_ = inclusion; }

 private:
  std::map<std::pair<clang::FileID, unsigned>, Inclusion> found_;
  Inclusion* last_ = nullptr;
};

/// The user's files as one text that can stand below the vocabulary, in a namespace.
struct SplicedText {
  std::string text;                   ///< begins with a #line directive; ends with a line end
  std::vector<std::string> includes;  ///< of the vocabulary, each once, in order
  std::vector<std::string> macros;    ///< that it leaves defined
  std::vector<std::string> files;     ///< as they were opened
};

/// Puts each of the user's files where it is included first, with blanks for what is `left_out`. `folder` is left out
/// of the names in #line directives. What cannot be spliced is an error in `problems`.
SplicedText splice(const Inclusions& inclusions, const Ranges& left_out, clang::Preprocessor& preprocessor,
                   const std::string& folder, std::vector<Diagnostic>& problems);

}  // namespace iris::clang_library
