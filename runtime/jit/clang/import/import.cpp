#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/jit/clang/import/changes.hpp"
#include "runtime/jit/clang/import/kernels.hpp"
#include "runtime/jit/clang/import/plain.hpp"
#include "runtime/jit/clang/import/shim.hpp"
#include "runtime/jit/clang/import/vocabulary_kernel.hpp"
#include "runtime/jit/clang/parse.hpp"
#include "runtime/jit/clang/tasks.hpp"

// Question: name, source, headers, `entry` (may be empty: the only kernel).
// Answer: `findings`, as lint's, of which an error means that there is no kernel to describe; else `kernel`, with the
// fields of iris::ImportedKernel (runtime/jit/import.cpp).
namespace iris::clang_library {
namespace {

using importing::Changes;
using importing::MissingInclude;
using nlohmann::json;

/// Goes on where a header is missing, and keeps where.
class Includes : public clang::PPCallbacks {
 public:
  Includes(clang::SourceManager& sources, std::vector<MissingInclude>& missing)
      : sources_(sources), missing_(missing) {}

  bool FileNotFound(clang::StringRef) override { return true; }
  void InclusionDirective(clang::SourceLocation hash, const clang::Token&, clang::StringRef path, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, clang::StringRef, clang::StringRef,
                          const clang::Module*, bool, clang::SrcMgr::CharacteristicKind) override {
    if (!file && !sources_.isInSystemHeader(hash) && missing_.size() < most) missing_.push_back({path.str(), hash});
  }

 private:
  static constexpr std::size_t most = 200;
  clang::SourceManager& sources_;
  std::vector<MissingInclude>& missing_;
};

constexpr const char* brought_along = "namespace iris::device {";

clang::SourceLocation start_of(const Parsed& parsed) {
  return parsed.sources().getLocForStartOfFile(parsed.sources().getMainFileID());
}

bool is_in_vocabulary(const std::string& source) {
  return source.find("<iris/device/") != std::string::npos || source.find(brought_along) != std::string::npos;
}

Diagnostic error_at(const Parsed& parsed, clang::SourceLocation where, std::string message) {
  const auto range = clang::CharSourceRange::getTokenRange(where, where);
  return {.message = std::move(message), .place = place_of(parsed.sources(), parsed.ast().getLangOpts(), range)};
}

/// The one that is meant; null, with an error in `found`, if that cannot be told.
const clang::FunctionDecl* choose(const Parsed& parsed, const std::vector<const clang::FunctionDecl*>& kernels,
                                  const std::string& entry, std::vector<Diagnostic>& found) {
  std::vector<const clang::FunctionDecl*> named;
  for (const clang::FunctionDecl* kernel : kernels) {
    const bool is_it = kernel->getNameAsString() == entry || kernel->getQualifiedNameAsString() == entry;
    if (entry.empty() || is_it) named.push_back(kernel);
  }
  if (named.size() == 1) return named.front();
  std::string list;
  for (const clang::FunctionDecl* kernel : kernels) {
    if (list.size() < 400) list += (list.empty() ? "" : ", ") + kernel->getQualifiedNameAsString();
  }
  const clang::SourceLocation start = start_of(parsed);
  if (kernels.empty()) {
    found.push_back(error_at(parsed, start,
                             "there is no kernel here: no definition of a __global__ function, nor one that takes a "
                             "const iris::device::Context&"));
  } else if (named.empty()) {
    found.push_back(error_at(parsed, start, "there is no kernel '" + entry + "' here; there are: " + list));
  } else {
    found.push_back(error_at(parsed, named[1]->getLocation(),
                             entry.empty() ? "there are several kernels here; name one by --entry: " + list
                                           : "several kernels are called '" + entry + "'; rename one"));
  }
  return nullptr;
}

json without_kernel(const std::vector<Diagnostic>& findings) {
  return {{"findings", findings}, {"kernel", nullptr}};
}

/// Only what Clang could not get over.
std::vector<Diagnostic> errors_of(const Parsed& parsed) {
  constexpr std::size_t most = 20;
  std::vector<Diagnostic> errors;
  for (const Diagnostic& one : parsed.diagnostics()) {
    if (one.severity == "error" && errors.size() < most) errors.push_back(one);
  }
  return errors;
}

json import_vocabulary_kernel(ParseRequest request, const std::string& entry) {
  request.before = annotations;
  const Parsed parsed(request);
  const std::size_t own_vocabulary = request.source.find(brought_along);
  if (!parsed.ok() && parsed.has_tree() && own_vocabulary != std::string::npos)
    return without_kernel(
        {error_at(parsed, start_of(parsed),
                  "this file brings the vocabulary along, for one target, which Clang cannot read for the "
                  "CPU; take one that was generated without --self-contained")});
  if (!parsed.ok()) return without_kernel(errors_of(parsed));
  std::vector<Diagnostic> errors;
  const clang::FunctionDecl* kernel = choose(parsed, importing::vocabulary_kernels_of(parsed), entry, errors);
  if (kernel == nullptr) return without_kernel(errors);
  Changes changes(parsed);
  json facts = importing::describe_vocabulary_kernel(parsed, *kernel, changes);
  if (own_vocabulary != std::string::npos)
    changes.add("import-vocabulary", "", clang::SourceRange(kernel->getLocation()),
                "this file brings the vocabulary along, which irisgen would bring a second time; take one that was "
                "generated without --self-contained, or include <iris/device/…> instead");
  return {{"findings", changes.take()}, {"kernel", std::move(facts)}};
}

json import_plain_kernel(ParseRequest request, const std::string& entry) {
  std::vector<MissingInclude> missing;
  request.before = importing::gpu_names;
  // What host code does not know would end the parse before the kernel comes.
  request.arguments = {"-x", "hip", "-ferror-limit", "0", "-fno-spell-checking"};
  request.prepare = [&](clang::Preprocessor& preprocessor) {
    preprocessor.addPPCallbacks(std::make_unique<Includes>(preprocessor.getSourceManager(), missing));
  };
  const Parsed parsed(request);
  if (!parsed.has_tree()) return without_kernel(errors_of(parsed));
  std::vector<Diagnostic> errors;
  const auto kernels = importing::kernels_of(parsed);
  const clang::FunctionDecl* kernel = choose(parsed, kernels, entry, errors);
  if (kernel == nullptr) {
    // Without a kernel, what Clang says may tell why.
    if (kernels.empty()) {
      for (const Diagnostic& error : errors_of(parsed)) errors.push_back(error);
    }
    return without_kernel(errors);
  }
  Changes changes(parsed);
  json facts = importing::describe_plain(parsed, *kernel, missing, changes);
  return {{"findings", changes.take()}, {"kernel", std::move(facts)}};
}

}  // namespace

json answer_import_kernel(const json& question) {
  const ParseRequest request = parse_request(question);
  const auto entry = question.at("entry").get<std::string>();
  return is_in_vocabulary(request.source) ? import_vocabulary_kernel(request, entry)
                                          : import_plain_kernel(request, entry);
}

}  // namespace iris::clang_library
