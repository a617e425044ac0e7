#include "runtime/jit/clang/read/splice.hpp"

#include <clang/Lex/Lexer.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

#include <algorithm>
#include <memory>
#include <set>

#include "runtime/jit/clang/source_files.hpp"

namespace iris::clang_library {
namespace {

constexpr std::string_view vocabulary = "iris/device/";

/// Notes what each #include of the user's files brings.
class Observer : public clang::PPCallbacks {
 public:
  Observer(clang::SourceManager& sources, Inclusions& inclusions) : sources_(sources), inclusions_(inclusions) {}

  void InclusionDirective(clang::SourceLocation hash, const clang::Token&, clang::StringRef path, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, clang::StringRef, clang::StringRef,
                          const clang::Module*, bool, clang::SrcMgr::CharacteristicKind) override {
    inclusions_.set_last(nullptr);
    if (!file || sources_.isInSystemHeader(hash)) return;
    const auto [where, offset] = sources_.getDecomposedLoc(hash);
    Inclusion& inclusion = inclusions_.add(where, offset);
    if (path.starts_with(virtual_folder)) return;  // what the parse puts behind the user's last line
    inclusion.of_vocabulary = path.starts_with(llvm::StringRef(vocabulary));
    inclusion.path = path.str();
    inclusion.name = file->getName().str();
    inclusions_.set_last(&inclusion);
  }

  void FileChanged(clang::SourceLocation at, FileChangeReason reason, clang::SrcMgr::CharacteristicKind,
                   clang::FileID) override {
    if (reason != EnterFile || inclusions_.last() == nullptr) return;
    inclusions_.last()->file = sources_.getFileID(at);
    inclusions_.set_last(nullptr);
  }

 private:
  clang::SourceManager& sources_;
  Inclusions& inclusions_;
};

class Splicer {
 public:
  Splicer(const Inclusions& inclusions, const Ranges& left_out, clang::Preprocessor& preprocessor,
          const std::string& folder, std::vector<Diagnostic>& problems)
      : inclusions_(inclusions),
        left_out_(left_out),
        preprocessor_(preprocessor),
        sources_(preprocessor.getSourceManager()),
        folder_(folder),
        problems_(problems) {}

  SplicedText splice() {
    const clang::FileID main = sources_.getMainFileID();
    add_file(main, sources_.getFileEntryRefForID(main)->getName().str());
    const std::size_t last = result_.text.find_last_not_of('\n');
    result_.text.erase(last + 2);
    if (result_.text[last] == '\\') result_.text += '\n';  // which would take the next line in
    leave_out_empty_lines(main);
    result_.macros = macros();
    return std::move(result_);
  }

 private:
  /// Those at the beginning, where includes have stood.
  void leave_out_empty_lines(clang::FileID main) {
    const std::size_t first = result_.text.find('\n') + 1;
    const std::size_t text = result_.text.find_first_not_of('\n', first);
    if (text == std::string::npos) return;
    const std::string rest = result_.text.substr(text);
    result_.text.clear();
    add_line_directive(text - first + 1, sources_.getFileEntryRefForID(main)->getName().str());
    result_.text += rest;
  }

  std::string shown(const std::string& name) const {
    return name.starts_with(folder_) ? name.substr(folder_.size()) : name;
  }

  void add_line_directive(std::size_t line, const std::string& name) {
    result_.text += "#line " + std::to_string(line) + " \"" + shown(name) + "\"\n";
  }

  /// Blanks in its place, so that lines and columns stay.
  std::string without_left_out(clang::FileID file, std::string text) const {
    const auto ranges = left_out_.find(file);
    if (ranges == left_out_.end()) return text;
    for (const auto& [begin, length] : ranges->second) {
      for (unsigned at = begin; at < begin + length; ++at) {
        if (text.at(at) != '\n') text[at] = ' ';
      }
    }
    return text;
  }

  /// Directives are found again by a raw lexer, which knows comments and strings, but no conditions.
  void add_file(clang::FileID file, const std::string& name) {
    entered_.insert(sources_.getFileEntryForID(file));
    result_.files.push_back(name);
    add_line_directive(1, name);
    const llvm::MemoryBufferRef buffer = sources_.getBufferOrFake(file);
    const std::string blanked = without_left_out(file, buffer.getBuffer().str());
    const llvm::StringRef text = blanked;
    constexpr llvm::StringRef byte_order_mark = "\xEF\xBB\xBF";
    clang::Lexer lexer(file, buffer, sources_, preprocessor_.getLangOpts());
    std::size_t copied = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
    clang::Token token;
    for (bool last = lexer.LexFromRawLexer(token); !last; last = lexer.LexFromRawLexer(token)) {
      if (!token.is(clang::tok::hash) || !token.isAtStartOfLine()) continue;
      const unsigned begin = sources_.getFileOffset(token.getLocation());
      lexer.LexFromRawLexer(token);
      if (!token.is(clang::tok::raw_identifier) || token.isAtStartOfLine()) continue;
      const llvm::StringRef directive = token.getRawIdentifier();
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      if (directive == "pragma" && is_once(lexer)) {
        result_.text += text.slice(copied, begin);
        copied = end;
        continue;
      }
      if (directive != "include") {
        refuse_other(directive, token.getLocation());
        continue;
      }
      if (text.slice(begin, end).contains("/*"))
        refuse(token.getLocation(), "a comment begins in the line of this #include; put it elsewhere");
      result_.text += text.slice(copied, begin);
      copied = end;
      if (!add_inclusion(file, begin, token.getLocation())) continue;
      add_line_directive(sources_.getLineNumber(file, begin) + 1, name);
      copied = std::min(end + 1, text.size());
      if (result_.files.size() > max_files) return;
    }
    result_.text += text.substr(copied);
    if (!result_.text.ends_with('\n')) result_.text += '\n';
  }

  /// Whether `#pragma` goes on so.
  static bool is_once(clang::Lexer& lexer) {
    clang::Token token;
    lexer.LexFromRawLexer(token);
    return token.is(clang::tok::raw_identifier) && !token.isAtStartOfLine() && token.getRawIdentifier() == "once";
  }

  /// Whether it brought text of the user's.
  bool add_inclusion(clang::FileID file, unsigned offset, clang::SourceLocation where) {
    const Inclusion* inclusion = inclusions_.at(file, offset);
    if (inclusion == nullptr) {
      refuse(where,
             "this #include stands under a condition that does not hold for the CPU; include without conditions");
      return false;
    }
    if (inclusion->of_vocabulary) {
      auto& includes = result_.includes;
      if (std::ranges::find(includes, inclusion->path) == includes.end()) includes.push_back(inclusion->path);
      return false;
    }
    if (inclusion->file.isInvalid()) return false;
    if (entered_.contains(sources_.getFileEntryForID(inclusion->file))) {
      refuse(where, "'" + inclusion->path + "' is included twice and has no #pragma once; add it");
      return false;
    }
    add_file(inclusion->file, inclusion->name);
    return true;
  }

  void refuse_other(llvm::StringRef directive, clang::SourceLocation where) {
    if (directive == "include_next" || directive == "import" || directive == "embed")
      refuse(where, "#" + directive.str() + " cannot be spliced into an emitted file; use #include");
  }

  void refuse(clang::SourceLocation where, std::string message) {
    const auto range = clang::CharSourceRange::getTokenRange(where, where);
    problems_.push_back(
        {.message = std::move(message), .place = place_of(sources_, preprocessor_.getLangOpts(), range)});
  }

  std::vector<std::string> macros() const {
    std::vector<std::string> names;
    for (const auto& [identifier, state] : preprocessor_.macros()) {
      const clang::MacroInfo* info = preprocessor_.getMacroInfo(identifier);
      if (info == nullptr || info->isBuiltinMacro()) continue;
      const auto* file = sources_.getFileEntryForID(sources_.getFileID(info->getDefinitionLoc()));
      if (file != nullptr && entered_.contains(file)) names.push_back(identifier->getName().str());
    }
    std::ranges::sort(names);
    return names;
  }

  static constexpr std::size_t max_files = 256;

  const Inclusions& inclusions_;
  const Ranges& left_out_;
  clang::Preprocessor& preprocessor_;
  clang::SourceManager& sources_;
  const std::string& folder_;
  std::vector<Diagnostic>& problems_;
  std::set<const clang::FileEntry*> entered_;
  SplicedText result_;
};

}  // namespace

void Inclusions::observe(clang::Preprocessor& preprocessor) {
  preprocessor.addPPCallbacks(std::make_unique<Observer>(preprocessor.getSourceManager(), *this));
}

const Inclusion* Inclusions::at(clang::FileID file, unsigned offset) const {
  const auto found = found_.find({file, offset});
  return found == found_.end() ? nullptr : &found->second;
}

SplicedText splice(const Inclusions& inclusions, const Ranges& left_out, clang::Preprocessor& preprocessor,
                   const std::string& folder, std::vector<Diagnostic>& problems) {
  return Splicer(inclusions, left_out, preprocessor, folder, problems).splice();
}

}  // namespace iris::clang_library
