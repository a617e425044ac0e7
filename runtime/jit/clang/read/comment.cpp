#include "runtime/jit/clang/read/comment.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/RawCommentList.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace iris::clang_library {
namespace {

/// Nothing in it can end a comment of the emitted file, or make it go on.
std::string clean(std::string line) {
  std::erase_if(line, [](unsigned char c) { return c < ' ' || c == 127; });
  const std::size_t last = line.find_last_not_of(" \\");
  line.erase(last == std::string::npos ? 0 : last + 1);
  line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

/// What stands behind such a command of Doxygen's, `\param`, `@param` or `@param[in]`; nothing where there is none.
std::optional<std::string> behind_command(const std::string& line, const std::string& command) {
  if (!line.starts_with("\\" + command) && !line.starts_with("@" + command)) return std::nullopt;
  std::string rest = line.substr(1 + command.size());
  if (rest.starts_with('[')) rest.erase(0, std::min(rest.find(']'), rest.size() - 1) + 1);
  if (!rest.starts_with(' ')) return std::nullopt;
  return clean(rest);
}

}  // namespace

Comment comment_of(const Parsed& parsed, const clang::FunctionDecl& function) {
  Comment comment;
  const clang::RawComment* raw = parsed.ast().getRawCommentForAnyRedecl(&function);
  if (raw == nullptr) return comment;
  std::istringstream lines(raw->getFormattedText(parsed.sources(), parsed.ast().getDiagnostics()));
  std::string* current = &comment.text;
  for (std::string line; std::getline(lines, line);) {
    line = clean(line);
    if (const auto brief = behind_command(line, "brief")) line = *brief;
    for (const std::string command : {"param", "tparam"}) {
      const auto said = behind_command(line, command);
      if (!said) continue;
      std::istringstream rest(*said);
      std::string name;
      rest >> name;
      std::getline(rest, line);
      line = clean(line);
      current = &comment.parameters[name];
    }
    if (line.empty()) continue;
    if (!current->empty()) *current += ' ';
    *current += line;
  }
  return comment;
}

}  // namespace iris::clang_library
