#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "irisgen/spec.hpp"

namespace iris {

/// An array as NumPy's .npy files hold it: row-major, little-endian.
struct NpyArray {
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;  ///< empty for a scalar
  std::vector<std::byte> bytes;     ///< product of the shape times the element's size
};

/// Reads a .npy file (format versions 1 to 3) whose elements are to be `wanted`. NumPy has no tf32, no bf16 and no
/// e4m3: an f4 file serves, rounded to nearest even. Throws std::runtime_error with a sentence that names the file for
/// anything else: another type, Fortran order, big-endian, a header or data that is truncated or lies.
NpyArray read_npy(const std::string& path, Dtype wanted);

/// The same from a file's content; `name` is for messages.
NpyArray parse_npy(std::string_view content, Dtype wanted, const std::string& name);

/// Whether this is the content of an .npy file, by its first bytes.
bool is_npy(std::string_view content);

/// Writes a version 1 file, which appears whole or not at all. tf32, bf16 and e4m3 become f4. Throws std::runtime_error
/// naming the file.
void write_npy(const std::string& path, const NpyArray& array);

/// The file's content that write_npy writes.
std::string format_npy(const NpyArray& array);

/// A file's name for one rank: `pattern` with the rank's number where it says {rank}.
std::string path_of_rank(std::string pattern, int rank);

}  // namespace iris
