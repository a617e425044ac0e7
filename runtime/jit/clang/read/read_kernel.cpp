#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/jit/clang/parse.hpp"
#include "runtime/jit/clang/read/entry.hpp"
#include "runtime/jit/clang/read/reach.hpp"
#include "runtime/jit/clang/read/splice.hpp"
#include "runtime/jit/clang/tasks.hpp"

// Question: name, source, headers, `folder` (what the name begins with and emitted files leave out), `entry` and
// `includes` (of the vocabulary, that the emitted file needs); of kernels and references `config`
// (`struct Config { … };`) and `extents`; of a reference `buffers`, each with `name` and `is_const`; of a function
// within a pattern `type`, f32, f64 or i32, that its values have.
// Answer: problems, as lint's findings; where there is none all that irisgen::KernelSource has, by its names.
namespace iris::clang_library {
namespace {

using nlohmann::json;

constexpr const char* annotations = "#define IRIS_SYMMETRIC __attribute__((annotate(\"iris_symmetric\")))\n";

/// Behind the user's file, where the emitted file has it, too.
std::string instantiation(const json& question, bool is_template) {
  std::string text;
  for (const auto& header : question.at("includes")) text += "#include <" + header.get<std::string>() + ">\n";
  const bool is_function = question.contains("type");
  text += "namespace irisgen_reading {\nusing namespace iris::device;\n";
  if (!is_function) text += question.at("config").get<std::string>();
  const std::string over = is_function ? question.at("type").get<std::string>() : "Config";
  const std::string call = "::" + question.at("entry").get<std::string>() + (is_template ? "<" + over + ">" : "");
  return text + "[[maybe_unused]] constexpr auto entry = &" + call + ";\n}\n";
}

bool has_errors(const std::vector<Diagnostic>& diagnostics) {
  return std::ranges::any_of(diagnostics, [](const Diagnostic& one) { return one.severity == "error"; });
}

/// Without what the user cannot see: notes about our own lines.
std::vector<Diagnostic> shown(std::vector<Diagnostic> diagnostics) {
  std::erase_if(diagnostics, [](const Diagnostic& one) { return one.severity != "error"; });
  for (Diagnostic& one : diagnostics) {
    std::erase_if(one.notes, [](const Diagnostic& note) { return note.place.file.starts_with("/irisgen/"); });
  }
  return diagnostics;
}

/// Members of Config that something refers to.
json used_members(const Parsed& parsed) {
  json names = json::array();
  for (const clang::Decl* decl : parsed.ast().getTranslationUnitDecl()->decls()) {
    const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(decl);
    if (space == nullptr || !space->getDeclName() || space->getName() != "irisgen_reading") continue;
    for (const clang::Decl* inner : space->decls()) {
      const auto* config = llvm::dyn_cast<clang::CXXRecordDecl>(inner);
      if (config == nullptr || config->getName() != "Config") continue;
      for (const clang::Decl* member : config->decls()) {
        const auto* named = llvm::dyn_cast<clang::NamedDecl>(member);
        if (named != nullptr && !llvm::isa<clang::CXXRecordDecl>(member) && member->isReferenced())
          names.push_back(named->getNameAsString());
      }
    }
  }
  return names;
}

json answer_of(std::vector<Diagnostic> problems) {
  return {{"problems", shown(std::move(problems))}};
}

/// Whether the entry is a template; its errors, if there are any.
bool is_template(const ParseRequest& request, const std::string& entry, const std::string& over,
                 std::vector<Diagnostic>& problems) {
  const Parsed parsed(request);
  if (!parsed.ok()) {
    problems = parsed.diagnostics();
    return false;
  }
  Problems own(parsed);
  const clang::NamedDecl* found = find_entry(parsed, entry, over, own);
  problems = own.found;
  return found != nullptr && llvm::isa<clang::FunctionTemplateDecl>(found);
}

}  // namespace

namespace {

enum class Kind { kernel, reference, function };

json read(const json& question, Kind kind) {
  ParseRequest request = parse_request(question);
  request.before = annotations;
  const auto entry_name = question.at("entry").get<std::string>();
  std::vector<Diagnostic> problems;
  const std::string over = kind == Kind::function ? "that of its values" : "Config";
  const bool takes_config = is_template(request, entry_name, over, problems);
  if (has_errors(problems)) return answer_of(std::move(problems));

  Inclusions inclusions;
  request.after = instantiation(question, takes_config);
  request.prepare = [&](clang::Preprocessor& preprocessor) { inclusions.observe(preprocessor); };
  const Parsed parsed(request);
  if (!parsed.ok()) return answer_of(parsed.diagnostics());
  Problems own(parsed);
  const clang::NamedDecl* entry = find_entry(parsed, entry_name, over, own);
  const std::string type = question.value("type", "irisgen_reading::Config");
  const clang::FunctionDecl* function = entry == nullptr ? nullptr : instantiated(*entry, type);
  if (function == nullptr) return answer_of(own.found);

  json answer = {{"takes_config", takes_config}, {"constants", used_members(parsed)}};
  const auto extents = question.value("extents", std::vector<std::string>());
  switch (kind) {
    case Kind::kernel:
      describe_entry(parsed, *function, extents, answer, own);
      describe_reach(parsed, *function, extents, answer, own);
      break;
    case Kind::reference:
      describe_reference(*function, extents, question.at("buffers"), answer, own);
      break;
    case Kind::function:
      describe_function(parsed, *function, question.at("type"), answer, own);
      break;
  }
  const SplicedText spliced =
      splice(inclusions, parsed.preprocessor(), question.at("folder").get<std::string>(), own.found);
  answer["text"] = spliced.text;
  answer["device_includes"] = spliced.includes;
  answer["macros"] = spliced.macros;
  answer["files"] = spliced.files;
  if (has_errors(own.found)) return answer_of(own.found);
  answer["problems"] = json::array();
  return answer;
}

}  // namespace

json answer_read_kernel(const json& question) {
  return read(question, Kind::kernel);
}

json answer_read_reference(const json& question) {
  return read(question, Kind::reference);
}

json answer_read_function(const json& question) {
  return read(question, Kind::function);
}

}  // namespace iris::clang_library
