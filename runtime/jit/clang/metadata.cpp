#include "runtime/jit/clang/metadata.hpp"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Object/ELFObjectFile.h>

#include <optional>

namespace iris::clang_library {
namespace {

using Elf = llvm::object::ELF64LE;

/// The MessagePack text of the AMDGPU metadata note.
std::optional<llvm::StringRef> metadata_note(const llvm::object::ELFFile<Elf>& file) {
  auto headers = file.program_headers();
  if (!headers) {
    llvm::consumeError(headers.takeError());
    return std::nullopt;
  }
  std::optional<llvm::StringRef> found;
  for (const auto& header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE) continue;
    llvm::Error error = llvm::Error::success();
    for (const auto& note : file.notes(header, error)) {
      if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA) {
        found = note.getDescAsStringRef(header.p_align);
      }
    }
    llvm::consumeError(std::move(error));
  }
  return found;
}

int number(llvm::msgpack::MapDocNode& kernel, llvm::StringRef key) {
  const auto found = kernel.find(key);
  if (found == kernel.end()) return -1;
  if (found->second.getKind() == llvm::msgpack::Type::UInt) return static_cast<int>(found->second.getUInt());
  if (found->second.getKind() == llvm::msgpack::Type::Int) return static_cast<int>(found->second.getInt());
  return -1;
}

}  // namespace

void read_amd_resources(const std::string& image, const std::string& symbol, Outcome& outcome) {
  auto file = llvm::object::ELFFile<Elf>::create(image);
  if (!file) {
    llvm::consumeError(file.takeError());
    return;
  }
  const auto note = metadata_note(*file);
  llvm::msgpack::Document document;
  if (!note || !document.readFromBlob(*note, false) || !document.getRoot().isMap()) return;
  auto& kernels = document.getRoot().getMap()["amdhsa.kernels"];
  if (!kernels.isArray()) return;
  for (auto& node : kernels.getArray()) {
    if (!node.isMap()) continue;
    auto& kernel = node.getMap();
    const auto name = kernel.find(".name");
    if (name == kernel.end() || !name->second.isString() || name->second.getString() != symbol) continue;
    // .vgpr_count counts the accumulation registers in.
    outcome.registers = number(kernel, ".vgpr_count");
    outcome.scalar_registers = number(kernel, ".sgpr_count");
    outcome.shared_bytes = number(kernel, ".group_segment_fixed_size");
    outcome.spill_bytes = number(kernel, ".private_segment_fixed_size");
  }
}

}  // namespace iris::clang_library
