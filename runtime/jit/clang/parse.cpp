#include "runtime/jit/clang/parse.hpp"

#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/TemplateInstCallback.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/jit/clang/arguments.hpp"
#include "runtime/jit/clang/source_files.hpp"

namespace iris::clang_library {
namespace {

constexpr const char* before_file = "before";
constexpr const char* after_file = "after";

// Sources of a megabyte can ask for work without end. What kernels need is a hundredth of this.
constexpr int max_instantiations = 300'000;
constexpr int max_tokens = 8'000'000;

/// Ends the parse with an error where templates go on and on without being deep.
class InstantiationLimit : public clang::TemplateInstantiationCallback {
 public:
  explicit InstantiationLimit(clang::DiagnosticsEngine& diagnostics) : diagnostics_(diagnostics) {}

  void initialize(const clang::Sema&) override {}
  void finalize(const clang::Sema&) override {}
  void atTemplateBegin(const clang::Sema&, const clang::Sema::CodeSynthesisContext& context) override {
    if (++count_ != max_instantiations) return;
    const unsigned id = diagnostics_.getCustomDiagID(clang::DiagnosticsEngine::Fatal,
                                                     "more than %0 templates are instantiated; make fewer of them");
    diagnostics_.Report(context.PointOfInstantiation, id) << max_instantiations;
  }
  void atTemplateEnd(const clang::Sema&, const clang::Sema::CodeSynthesisContext&) override {}

 private:
  clang::DiagnosticsEngine& diagnostics_;
  int count_ = 0;
};

/// Macros can double their text in each line. Nothing but the end of the process's patience, or this, stops them: the
/// preprocessor has no error for it.
void limit_tokens(clang::Preprocessor& preprocessor) {
  preprocessor.setTokenWatcher([count = 0](const clang::Token&) mutable {
    if (++count <= max_tokens) return;
    llvm::report_fatal_error("macros make more than 8 million tokens of it; write less by macros", false);
  });
}

std::string quoted_include(const char* file) {
  return "#include \"" + std::string(virtual_folder) + "/" + file + "\"\n";
}

std::vector<std::string> arguments_for(const ParseRequest& request) {
  std::vector<std::string> arguments = syntax_arguments();
  arguments.insert(arguments.end(), {"-isystem", virtual_folder});
  if (!request.before.empty()) {
    arguments.insert(arguments.end(), {"-include", std::string(virtual_folder) + "/" + before_file});
  }
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  return arguments;
}

std::vector<std::string> keys_of(const std::map<std::string, std::string>& texts) {
  std::vector<std::string> keys;
  keys.reserve(texts.size());
  for (const auto& [key, text] : texts) keys.push_back(key);
  return keys;
}

}  // namespace

ParseRequest parse_request(const nlohmann::json& question) {
  ParseRequest request;
  question.at("name").get_to(request.name);
  question.at("source").get_to(request.source);
  question.at("headers").get_to(request.headers);
  return request;
}

Parsed::Parsed(const ParseRequest& request) : texts_(request.headers), source_(request.source) {
  if (request.source.size() > max_source_bytes) {
    diagnostics_.push_back({.message = "is larger than 1 MiB, which no kernel is; name its source file",
                            .place = {.file = request.name, .line = 1, .column = 1, .end_line = 1, .end_column = 1}});
    return;
  }
  read(request);
}

Parsed::~Parsed() {
  if (action_ != nullptr) action_->EndSourceFile();
}

bool Parsed::ok() const {
  return std::ranges::none_of(diagnostics_, [](const Diagnostic& one) { return one.severity == "error"; });
}

void Parsed::read(const ParseRequest& request) {
  collector_ = std::make_unique<DiagnosticCollector>(keys_of(request.headers));
  texts_[before_file] = request.before;
  texts_[after_file] = request.after;
  // The user's lines stay in the main file, where they are; what follows them is behind the last, whether or not that
  // has an end, or goes on with a backslash.
  if (!request.after.empty()) source_ += "\n\n" + quoted_include(after_file);

  const auto files = source_files(texts_);
  const std::vector<std::string> arguments = arguments_for(request);
  std::vector<const char*> pointers;
  pointers.reserve(arguments.size());
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  clang::DiagnosticOptions options;
  const auto diagnostics = clang::CompilerInstance::createDiagnostics(*files, options, collector_.get(), false);
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, *diagnostics)) {
    throw std::logic_error("Clang does not know its arguments");
  }
  const clang::FrontendInputFile input(request.name, invocation->getFrontendOpts().Inputs.front().getKind());
  invocation->getFrontendOpts().Inputs.assign(1, input);
  invocation->getPreprocessorOpts().addRemappedFile(request.name,
                                                    llvm::MemoryBuffer::getMemBuffer(source_, request.name).release());

  compiler_ = std::make_unique<clang::CompilerInstance>(invocation);
  compiler_->setVirtualFileSystem(files);
  compiler_->createDiagnostics(collector_.get(), false);
  compiler_->createFileManager();
  compiler_->createSourceManager();
  if (!compiler_->createTarget()) throw std::logic_error("Clang cannot make code for this machine");
  auto action = std::make_unique<clang::SyntaxOnlyAction>();
  if (action->BeginSourceFile(*compiler_, input)) {
    action_ = std::move(action);
    limit_tokens(compiler_->getPreprocessor());
    if (request.prepare) request.prepare(compiler_->getPreprocessor());
    compiler_->createSema(clang::TU_Complete, nullptr);
    compiler_->getSema().TemplateInstCallbacks.push_back(
        std::make_unique<InstantiationLimit>(compiler_->getDiagnostics()));
    llvm::consumeError(action_->Execute());
  }
  diagnostics_ = collector_->take();
}

}  // namespace iris::clang_library
