#include "runtime/system/build_id.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>

namespace iris {
namespace {

constexpr std::size_t largest_note_segment = 1u << 16;

template <typename Object>
bool read_at(std::ifstream& stream, std::uint64_t offset, Object& object) {
  stream.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(stream.read(reinterpret_cast<char*>(&object), sizeof(object)));
}

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::size_t padded(std::size_t size) {
  return (size + 3) / 4 * 4;
}

/// The build-id among the notes of one segment.
std::string find_build_id(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note = {};
    std::memcpy(&note, notes.data(), sizeof(note));
    const std::size_t name = sizeof(note);
    const std::size_t content = name + padded(note.n_namesz);
    const std::size_t end = content + padded(note.n_descsz);
    if (end > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(name, note.n_namesz) == std::string_view("GNU\0", 4)) {
      return hexadecimal(notes.substr(content, note.n_descsz));
    }
    notes.remove_prefix(end);
  }
  return {};
}

}  // namespace

std::string build_id(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  Elf64_Ehdr header = {};
  if (!read_at(stream, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    if (!read_at(stream, header.e_phoff + i * sizeof(segment), segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > largest_note_segment) continue;
    std::string notes(segment.p_filesz, '\0');
    stream.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!stream.read(notes.data(), static_cast<std::streamsize>(notes.size()))) return {};
    if (std::string found = find_build_id(notes); !found.empty()) return found;
  }
  return {};
}

}  // namespace iris
