#include "runtime/jit/clang/diagnostics.hpp"

#include <clang/Basic/DiagnosticLex.h>
#include <clang/Basic/LangOptions.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/SmallString.h>

#include <algorithm>

#include "runtime/jit/clang/source_files.hpp"

namespace iris::clang_library {
namespace {

std::string line_of(const clang::SourceManager& sources, clang::FileID file, unsigned offset) {
  const llvm::StringRef text = sources.getBufferData(file);
  const std::size_t first = text.substr(0, offset).rfind('\n') + 1;  // npos + 1 is 0
  return text.slice(first, text.find_first_of("\r\n", first)).str();
}

const char* severity_of(clang::DiagnosticsEngine::Level level) {
  if (level >= clang::DiagnosticsEngine::Error) return "error";
  return level == clang::DiagnosticsEngine::Warning ? "warning" : "note";
}

}  // namespace

Place place_of(const clang::SourceManager& sources, const clang::LangOptions& language, clang::CharSourceRange range) {
  const clang::CharSourceRange in_file = clang::Lexer::makeFileCharRange(range, sources, language);
  const clang::SourceLocation begin = sources.getFileLoc(range.getBegin());
  const clang::PresumedLoc presumed = sources.getPresumedLoc(begin);
  if (presumed.isInvalid()) return {};
  const auto [file, offset] = sources.getDecomposedLoc(begin);
  llvm::StringRef name = presumed.getFilename();
  if (name.consume_front(virtual_folder)) name.consume_front("/");  // as it is included
  Place place = {.file = name.str(),
                 .line = static_cast<int>(presumed.getLine()),
                 .column = static_cast<int>(presumed.getColumn()),
                 .end_line = static_cast<int>(presumed.getLine()),
                 .end_column = static_cast<int>(presumed.getColumn()),
                 .source_line = line_of(sources, file, offset)};
  if (in_file.isValid()) {
    const clang::PresumedLoc end = sources.getPresumedLoc(in_file.getEnd());
    place.end_line = static_cast<int>(end.getLine());
    place.end_column = static_cast<int>(end.getColumn());
  }
  return place;
}

void to_json(nlohmann::json& json, const Diagnostic& diagnostic) {
  const auto json_of = [](const Place& place) -> nlohmann::json {
    return {{"file", place.file},
            {"line", place.line},
            {"column", place.column},
            {"end_line", place.end_line},
            {"end_column", place.end_column},
            {"source_line", place.source_line}};
  };
  json = {{"severity", diagnostic.severity},    {"rule", diagnostic.rule},   {"message", diagnostic.message},
          {"place", json_of(diagnostic.place)}, {"notes", diagnostic.notes}, {"fix_its", nlohmann::json::array()}};
  for (const FixIt& fix_it : diagnostic.fix_its) {
    json["fix_its"].push_back({{"place", json_of(fix_it.place)}, {"text", fix_it.text}});
  }
}

void DiagnosticCollector::HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) {
  clang::DiagnosticConsumer::HandleDiagnostic(level, info);  // counts
  Diagnostic diagnostic = {.severity = severity_of(level), .message = message_of(info)};
  if (info.hasSourceManager() && language_ != nullptr) {
    const clang::SourceManager& sources = info.getSourceManager();
    diagnostic.place =
        place_of(sources, *language_, clang::CharSourceRange::getTokenRange(info.getLocation(), info.getLocation()));
    for (const clang::FixItHint& hint : info.getFixItHints()) {
      diagnostic.fix_its.push_back({place_of(sources, *language_, hint.RemoveRange), hint.CodeToInsert});
    }
  }
  const bool belongs = level == clang::DiagnosticsEngine::Note && !collected_.empty();
  (belongs ? collected_.back().notes : collected_).push_back(std::move(diagnostic));
}

std::string DiagnosticCollector::message_of(const clang::Diagnostic& info) const {
  llvm::SmallString<256> text;
  info.FormatDiagnostic(text);
  std::string message = text.str().str();
  if (info.getID() != clang::diag::err_pp_file_not_found) return message;
  message +=
      "; kernels are freestanding, without the headers of the standard library, of HIP and of CUDA: include what "
      "lies beside this file, or of irisgen";
  for (const std::string& header : headers_) {
    const bool of_the_vocabulary = std::ranges::count(header, '/') == 2;  // iris/device/name.hpp
    if (of_the_vocabulary) message += " <" + header + ">";
  }
  return message;
}

}  // namespace iris::clang_library
