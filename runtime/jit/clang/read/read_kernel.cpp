#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/jit/clang/parse.hpp"
#include "runtime/jit/clang/read/calls.hpp"
#include "runtime/jit/clang/read/entry.hpp"
#include "runtime/jit/clang/read/library_names.hpp"
#include "runtime/jit/clang/read/placement.hpp"
#include "runtime/jit/clang/read/reach.hpp"
#include "runtime/jit/clang/read/splice.hpp"
#include "runtime/jit/clang/tasks.hpp"

// Question: name, source, headers, `folder` (what the name begins with and emitted files leave out), `entry` and
// `includes` (of the vocabulary, that the emitted file needs); of kernels and references `config`
// (`struct Config { … };`) and `extents`; of a kernel `named`, what the description's `arguments` name; of a reference
// the kernel's `buffers`, each with `name` and `is_const`, and `scalars`, types by name; of a function within a pattern
// `type`, f32, f64 or i32, that its values have.
// Answer: problems, as lint's findings; where there is none all that irisgen::KernelSource has, by its names.
namespace iris::clang_library {
namespace {

using nlohmann::json;

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

/// What we put before and behind the user's file, as places call it.
bool is_our_own(const Place& place) {
  return place.file == "before" || place.file == "after";
}

/// Without what the user cannot see, our own lines: what they show to be wrong is his entry.
std::vector<Diagnostic> shown(std::vector<Diagnostic> diagnostics, const std::string& name, const Place& entry) {
  std::erase_if(diagnostics, [](const Diagnostic& one) { return one.severity != "error"; });
  for (Diagnostic& one : diagnostics) {
    std::erase_if(one.notes, [](const Diagnostic& note) { return is_our_own(note.place); });
    if (!is_our_own(one.place)) continue;
    one.message = "'" + name + "' cannot be taken as the description has it: " + one.message;
    one.place = entry;
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
  return {{"problems", std::move(problems)}};
}

/// What is known of an entry before it is taken.
struct Found {
  bool is_template = false;
  Place place = {};
  std::vector<Diagnostic> problems = {};
};

Found look_for(const ParseRequest& request, const std::string& entry, const std::string& over) {
  const Parsed parsed(request);
  if (!parsed.ok()) return {.problems = parsed.diagnostics()};
  Problems own(parsed);
  const clang::NamedDecl* found = find_entry(parsed, entry, over, own);
  if (found == nullptr) return {.problems = own.found};
  return {.is_template = llvm::isa<clang::FunctionTemplateDecl>(found), .place = own.place(found->getLocation())};
}

enum class Kind { kernel, reference, function };

json read(const json& question, Kind kind) {
  ParseRequest request = parse_request(question);
  request.before = annotations;
  const auto entry_name = question.at("entry").get<std::string>();
  const Purpose purpose = kind == Kind::reference ? Purpose::reference : Purpose::kernel;
  const std::string over = kind == Kind::function ? "that of its values" : "Config";
  const Found first = look_for(request, entry_name, over);
  const auto refused = [&](std::vector<Diagnostic> problems) {
    if (!has_errors(problems)) {
      const std::string why = "'" + entry_name + "' cannot be taken for " + question.value("type", "Config") +
                              ", for a reason that the compiler does not give; a macro may have changed a name";
      problems.push_back({.message = why, .place = first.place});
    }
    explain_library_names(problems, purpose);
    return answer_of(shown(std::move(problems), entry_name, first.place));
  };
  if (has_errors(first.problems)) return refused(first.problems);

  Inclusions inclusions;
  request.after = instantiation(question, first.is_template);
  request.prepare = [&](clang::Preprocessor& preprocessor) { inclusions.observe(preprocessor); };
  const Parsed parsed(request);
  if (!parsed.ok()) return refused(parsed.diagnostics());
  Problems own(parsed);
  const clang::NamedDecl* entry = find_entry(parsed, entry_name, over, own);
  const std::string type = question.value("type", "irisgen_reading::Config");
  const clang::FunctionDecl* function = entry == nullptr ? nullptr : instantiated(*entry, type);
  if (function == nullptr) return refused(own.found);

  json answer = {{"takes_config", first.is_template}, {"constants", used_members(parsed)}};
  const auto extents = question.value("extents", std::vector<std::string>());
  switch (kind) {
    case Kind::kernel:
      describe_entry(parsed, *function, {extents, question.at("named").get<std::vector<std::string>>()}, answer, own);
      describe_reach(parsed, *function, extents, answer, own);
      check_calls(parsed, *function, false, own);
      check_symmetric(*function, own);
      break;
    case Kind::reference:
      describe_reference(*function, extents, question, answer, own);
      break;
    case Kind::function:
      describe_function(parsed, *function, question.at("type"), answer, own);
      check_calls(parsed, *function, true, own);
      break;
  }
  const Ranges left_out = place_in_namespace(parsed, own);
  const SplicedText spliced =
      splice(inclusions, left_out, parsed.preprocessor(), question.at("folder").get<std::string>(), own.found);
  answer["text"] = spliced.text;
  answer["device_includes"] = spliced.includes;
  answer["macros"] = spliced.macros;
  answer["files"] = spliced.files;
  if (has_errors(own.found)) return refused(own.found);
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
