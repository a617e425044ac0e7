#pragma once

#include <string>

namespace iris {

/// The linker's fingerprint of a program or shared library (the GNU build-id note), hexadecimal; empty if the file is
/// no 64-bit ELF file of this byte order or has none. Reads a few hundred bytes.
std::string build_id(const std::string& file);

}  // namespace iris
