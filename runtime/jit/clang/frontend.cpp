#include "runtime/jit/clang/frontend.hpp"

#include <clang/Basic/Diagnostic.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/CallingConv.h>
#include <llvm/IR/Function.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include <memory>
#include <mutex>

#include "runtime/jit/clang/watch_stores.hpp"

namespace iris::clang_library {
namespace {

void initialize_code_generators() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
  });
}

bool is_kernel(const llvm::GlobalValue& value) {
  const auto* function = llvm::dyn_cast<llvm::Function>(&value);
  return function != nullptr && function->getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL;
}

/// Nothing but kernels is called from outside: a function that all its callers have inlined need not be compiled on its
/// own besides.
void keep_kernels_only(llvm::PassBuilder& builder) {
  builder.registerPipelineStartEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
    passes.addPass(llvm::InternalizePass(is_kernel));
  });
}

/// The invocation for a target, reading `input` and nothing else.
std::shared_ptr<clang::CompilerInvocation> make_invocation(const TargetArguments& target, llvm::MemoryBufferRef input,
                                                           const CompilationOptions& options,
                                                           clang::DiagnosticsEngine& diagnostics) {
  std::vector<const char*> arguments;
  arguments.reserve(target.frontend.size() + 2);
  for (const std::string& argument : target.frontend) arguments.push_back(argument.c_str());
  if (options.line_tables) arguments.insert(arguments.end(), {"-debug-info-kind=line-tables-only", "-dwarf-version=5"});
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, diagnostics)) return nullptr;
  auto& inputs = invocation->getFrontendOpts().Inputs;
  const clang::InputKind kind = inputs.front().getKind();
  invocation->getCodeGenOpts().MainFileName = input.getBufferIdentifier().str();  // in line tables
  inputs.assign(1, clang::FrontendInputFile(input, kind));
  if (options.line_tables) invocation->getCodeGenOpts().DisableTailCalls = true;  // they leave no trace of the line
  if (target.amd) invocation->getCodeGenOpts().PassBuilderCallbacks.emplace_back(keep_kernels_only);
  if (options.watch_stores) invocation->getCodeGenOpts().PassBuilderCallbacks.emplace_back(watch_stores);
  return invocation;
}

}  // namespace

Compilation compile_to_object(const TargetArguments& target, const char* name, std::string_view source,
                              const CompilationOptions& options) {
  initialize_code_generators();
  Compilation result;
  llvm::raw_string_ostream messages(result.messages);
  // Kernels are self-contained; a file system with no files keeps it so.
  const auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  const auto buffer = llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(source.data(), source.size()), name);

  clang::DiagnosticOptions shown;
  shown.ShowPresumedLoc = true;  // a user's kernel has #line directives
  clang::TextDiagnosticPrinter printer(messages, shown);
  const auto diagnostics = clang::CompilerInstance::createDiagnostics(*files, shown, &printer, false);
  const auto invocation = make_invocation(target, buffer->getMemBufferRef(), options, *diagnostics);
  if (invocation == nullptr) return result;

  clang::CompilerInstance compiler(invocation);
  compiler.setVirtualFileSystem(files);
  compiler.setVerboseOutputStream(messages);
  compiler.createDiagnostics(&printer, false);
  llvm::SmallVector<char, 0> object;
  compiler.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(object));
  clang::EmitObjAction action;
  if (compiler.ExecuteAction(action)) result.object.assign(object.data(), object.size());
  return result;
}

}  // namespace iris::clang_library
