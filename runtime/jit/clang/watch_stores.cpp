#include "runtime/jit/clang/watch_stores.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>

#include <optional>
#include <vector>

#include "runtime/system/store_hook.hpp"

namespace iris::clang_library {
namespace {

/// What an instruction is about to write.
struct Written {
  llvm::Value* address;
  llvm::Value* bytes;
};

/// A call of the C library's functions: freestanding code has them as plain calls.
bool copies_memory(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || call.arg_size() != 3) return false;
  return callee->getName() == "memcpy" || callee->getName() == "memmove" || callee->getName() == "memset";
}

std::optional<Written> written_by(llvm::Instruction& instruction) {
  const llvm::DataLayout& layout = instruction.getDataLayout();
  llvm::Type* const count = llvm::Type::getInt64Ty(instruction.getContext());
  const auto bytes_of = [&](const llvm::Value* value) {
    return llvm::ConstantInt::get(count, layout.getTypeStoreSize(value->getType()).getFixedValue());
  };
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    return Written{store->getPointerOperand(), bytes_of(store->getValueOperand())};
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
    return Written{update->getPointerOperand(), bytes_of(update->getValOperand())};
  if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    return Written{exchange->getPointerOperand(), bytes_of(exchange->getNewValOperand())};
  if (auto* copy = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&instruction))
    return Written{copy->getRawDest(), copy->getLength()};
  if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call != nullptr && copies_memory(*call))
    return Written{call->getArgOperand(0), call->getArgOperand(2)};
  return std::nullopt;
}

/// A thread's own variable, which no other thread reads.
bool is_local(const llvm::Value& address) {
  return llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(&address));
}

/// Where the instruction comes from; line 0 of its function where nothing is known, lest it take its neighbour's.
llvm::DebugLoc debug_location_of(const llvm::Instruction& instruction) {
  if (const llvm::DebugLoc& known = instruction.getDebugLoc()) return known;
  llvm::DISubprogram* function = instruction.getFunction()->getSubprogram();
  if (function == nullptr) return {};
  return llvm::DILocation::get(function->getContext(), 0, 0, function);
}

llvm::GlobalVariable& hook_of(llvm::Module& module) {
  auto* const pointer = llvm::PointerType::getUnqual(module.getContext());
  return *new llvm::GlobalVariable(module, pointer, false, llvm::GlobalValue::WeakAnyLinkage,
                                   llvm::ConstantPointerNull::get(pointer), store_hook_variable);
}

/// So that each call of them is a frame of its own: the vocabulary is in the emitted file, what the user wrote is where
/// #line directives say.
class InlineVocabulary : public llvm::PassInfoMixin<InlineVocabulary> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    for (llvm::Function& function : module) {
      const llvm::DISubprogram* place = function.getSubprogram();
      if (place == nullptr || place->getFilename() != module.getSourceFileName()) continue;
      function.removeFnAttr(llvm::Attribute::NoInline);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
    return llvm::AlwaysInlinerPass().run(module, analyses);
  }
};

class CallHook : public llvm::PassInfoMixin<CallHook> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    std::vector<std::pair<llvm::Instruction*, Written>> stores;
    for (llvm::Function& function : module) {
      for (llvm::Instruction& instruction : llvm::instructions(function)) {
        const auto written = written_by(instruction);
        if (written && !is_local(*written->address)) stores.emplace_back(&instruction, *written);
      }
    }
    llvm::GlobalVariable& hook = hook_of(module);
    for (const auto& [store, written] : stores) call(hook, *store, written);
    return llvm::PreservedAnalyses::none();  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the module has the hook
  }

 private:
  static void call(llvm::GlobalVariable& hook, llvm::Instruction& store, const Written& written) {
    llvm::IRBuilder<> builder(&store);
    builder.SetCurrentDebugLocation(debug_location_of(store));
    auto* const type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy(), builder.getInt64Ty()}, false);
    llvm::CallInst* call =
        builder.CreateCall(type, builder.CreateLoad(builder.getPtrTy(), &hook),
                           {written.address, builder.CreateZExtOrTrunc(written.bytes, builder.getInt64Ty())});
    call->setCannotMerge();  // two calls that became one would be at no line
  }
};

}  // namespace

void watch_stores(llvm::PassBuilder& builder) {
  builder.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(InlineVocabulary()); });
  // Locals are in registers by then, and no two stores have been made one yet.
  builder.registerPipelineEarlySimplificationEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel,
                                                           llvm::ThinOrFullLTOPhase) { passes.addPass(CallHook()); });
}

}  // namespace iris::clang_library
