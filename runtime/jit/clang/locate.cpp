#include <llvm/DebugInfo/DIContext.h>
#include <llvm/DebugInfo/DWARF/DWARFCompileUnit.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/DebugInfo/DWARF/DWARFUnit.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Error.h>

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/jit/clang/tasks.hpp"

// Question: `file`, a shared library that was compiled with line tables, and `offset`, of an instruction in it.
// Answer: `file`, `line` and `column` of the innermost call there that a user's file makes; line 0 where none is known.
// What bears the compiled file's own name is ours.
namespace iris::clang_library {

using nlohmann::json;

json answer_locate(const json& question) {
  json answer = {{"file", ""}, {"line", 0}, {"column", 0}};
  auto object = llvm::object::ObjectFile::createObjectFile(question.at("file").get<std::string>());
  if (!object) {
    llvm::consumeError(object.takeError());
    return answer;
  }
  const auto context = llvm::DWARFContext::create(*object->getBinary());
  const auto offset = question.at("offset").get<std::uint64_t>();
  llvm::DWARFCompileUnit* unit = context->getCompileUnitForCodeAddress(offset);
  if (unit == nullptr) return answer;
  const std::string emitted = unit->getUnitDIE().getShortName();
  const llvm::DIInliningInfo calls = context->getInliningInfoForAddress(
      {offset, llvm::object::SectionedAddress::UndefSection},
      llvm::DILineInfoSpecifier(llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue));
  for (std::uint32_t i = 0; i < calls.getNumberOfFrames(); ++i) {
    const llvm::DILineInfo& call = calls.getFrame(i);
    if (call.FileName == emitted || call.Line == 0) continue;
    return {{"file", call.FileName}, {"line", call.Line}, {"column", call.Column}};
  }
  return answer;
}

}  // namespace iris::clang_library
