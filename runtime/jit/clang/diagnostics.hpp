#pragma once

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/SourceLocation.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace clang {
class LangOptions;
class SourceManager;
}  // namespace clang

namespace iris::clang_library {

/// A range of a source as people see it: lines and columns from 1 on, columns in bytes, the end behind the last. Line 0
/// where there is no place. What a macro makes is where the macro is used.
struct Place {
  std::string file = {};
  int line = 0;
  int column = 0;
  int end_line = 0;
  int end_column = 0;
  std::string source_line = {};  ///< the text of `line`, without its end
};

/// Text that takes the place of a range, which may be empty.
struct FixIt {
  Place place = {};
  std::string text = {};
};

/// What is to be said about a place, by Clang's front end or by us.
struct Diagnostic {
  std::string severity = "error";  ///< error, warning or note
  std::string rule = {};           ///< a lint rule's name; empty: the front end
  std::string message = {};
  Place place = {};
  std::vector<Diagnostic> notes = {};
  std::vector<FixIt> fix_its = {};
};

/// The place of a range; of a token range its last token belongs to it.
Place place_of(const clang::SourceManager& sources, const clang::LangOptions& language, clang::CharSourceRange range);

void to_json(nlohmann::json& json, const Diagnostic& diagnostic);

/// Collects what the front end says, notes with what they belong to. Of a header that is not found it says what there
/// is.
class DiagnosticCollector : public clang::DiagnosticConsumer {
 public:
  /// `headers`: the paths of those that `#include <…>` finds.
  explicit DiagnosticCollector(std::vector<std::string> headers) : headers_(std::move(headers)) {}

  void BeginSourceFile(const clang::LangOptions& language, const clang::Preprocessor*) override {
    language_ = &language;
  }
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override;

  std::vector<Diagnostic> take() { return std::move(collected_); }

 private:
  std::string message_of(const clang::Diagnostic& info) const;

  std::vector<std::string> headers_;
  const clang::LangOptions* language_ = nullptr;
  std::vector<Diagnostic> collected_;
};

}  // namespace iris::clang_library
