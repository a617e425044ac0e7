#include "iris/npy.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "generator/language/unicode.hpp"
#include "generator/manifest/atomic_file.hpp"
#include "iris/values.hpp"

namespace iris {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::int64_t max_bytes = std::int64_t{1} << 62;
constexpr std::int64_t max_length = std::int64_t{1} << 40;  // of the language's extents

std::runtime_error error_in(const std::string& name, const std::string& what) {
  return std::runtime_error(name + ": " + what);
}

/// The type that stands in the file: NumPy has no tf32, no bf16 and no e4m3.
Dtype stored_type(Dtype dtype) {
  const bool is_in_file = dtype != Dtype::tf32 && dtype != Dtype::bf16 && dtype != Dtype::e4m3;
  return is_in_file ? dtype : Dtype::f32;
}

std::string_view descriptor_of(Dtype dtype) {
  switch (stored_type(dtype)) {
    case Dtype::f64:
      return "<f8";
    case Dtype::f16:
      return "<f2";
    case Dtype::i32:
      return "<i4";
    default:
      return "<f4";
  }
}

/// What the header's dictionary says.
struct Header {
  std::string descriptor;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the header: a Python dictionary literal with exactly the keys descr, fortran_order and shape, in any order.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  Header parse() {
    Header header;
    std::array<bool, 3> seen{};
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        mark(seen[0], key);
        if (peek() == '[') throw malformed("its elements are records, which irisgen does not read");
        header.descriptor = quoted();
      } else if (key == "fortran_order") {
        mark(seen[1], key);
        header.fortran_order = boolean();
      } else if (key == "shape") {
        mark(seen[2], key);
        header.shape = shape();
      } else {
        throw malformed("its header has the unknown key " + irisgen::in_quotes(key));
      }
      if (!accept(',') && peek() != '}') throw malformed("its header lacks a comma or a closing brace");
    }
    peek();
    if (!rest_.empty()) throw malformed("its header goes on after the closing brace");
    if (!(seen[0] && seen[1] && seen[2])) throw malformed("its header must have descr, fortran_order and shape");
    return header;
  }

 private:
  std::runtime_error malformed(const std::string& what) const { return error_in(name_, what); }

  void mark(bool& seen, const std::string& key) const {
    if (seen) throw malformed("its header has '" + key + "' twice");
    seen = true;
  }

  /// The next character that is no white space; 0 at the end.
  char peek() {
    const std::size_t first = rest_.find_first_not_of(" \t\n");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
    return rest_.empty() ? '\0' : rest_.front();
  }

  bool accept(char wanted) {
    if (peek() != wanted || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) throw malformed("its header lacks '" + std::string(1, wanted) + "' where it must stand");
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') throw malformed("its header lacks a string where one must stand");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) throw malformed("a string in its header does not end");
    const std::string content(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return content;
  }

  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    throw malformed("fortran_order must be True or False");
  }

  std::int64_t length() {
    peek();
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (problem != std::errc{} || value < 0 || value > max_length)
      throw malformed("its shape must consist of numbers from 0 to 2^40");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> lengths;
    expect('(');
    while (!accept(')')) {
      lengths.push_back(length());
      if (!accept(',') && peek() != ')') throw malformed("its shape lacks a comma or a closing parenthesis");
    }
    return lengths;
  }

  std::string_view rest_;
  const std::string& name_;
};

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Splits a file into its header's text and its data.
std::pair<std::string_view, std::string_view> split(std::string_view content, const std::string& name) {
  if (!content.starts_with(magic)) throw error_in(name, "is no NumPy .npy file");
  if (content.size() < magic.size() + 2) throw error_in(name, "ends within its header");
  const int version = static_cast<unsigned char>(content[magic.size()]);
  if (version < 1 || version > 3) {
    throw error_in(name, "has version " + std::to_string(version) + " of the .npy format; irisgen reads 1 to 3");
  }
  content.remove_prefix(magic.size() + 2);
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (content.size() < length_bytes) throw error_in(name, "ends within its header");
  const std::size_t header_bytes = little_endian(content.substr(0, length_bytes));
  content.remove_prefix(length_bytes);
  if (content.size() < header_bytes) throw error_in(name, "ends within its header");
  return {content.substr(0, header_bytes), content.substr(header_bytes)};
}

void check_type(const Header& header, Dtype wanted, const std::string& name) {
  const std::string_view descriptor = descriptor_of(wanted);
  if (header.descriptor == descriptor) return;
  if (header.descriptor.starts_with('>')) {
    throw error_in(name, "is big-endian; save it with .astype('" + std::string(descriptor) + "')");
  }
  throw error_in(name, "has elements of type " + irisgen::in_quotes(header.descriptor) + ", but " +
                           std::string(to_string(wanted)) + " needs '" + std::string(descriptor) +
                           "'; save it with .astype('" + std::string(descriptor) + "')");
}

/// Bytes of the data that a header promises; nothing if that overflows.
std::optional<std::int64_t> promised_bytes(const Header& header, Dtype dtype) {
  std::int64_t bytes = bytes_of(stored_type(dtype));
  bool overflow = false;
  for (const std::int64_t length : header.shape) {
    if (length == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(bytes, length, &bytes) || bytes > max_bytes;
  }
  if (overflow) return std::nullopt;
  return bytes;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::vector<std::byte> as_bytes(std::string_view data) {
  std::vector<std::byte> bytes(data.size());
  if (!data.empty()) std::memcpy(bytes.data(), data.data(), data.size());
  return bytes;
}

}  // namespace

bool is_npy(std::string_view content) {
  return content.starts_with(magic);
}

NpyArray parse_npy(std::string_view content, Dtype wanted, const std::string& name) {
  const auto [text, data] = split(content, name);
  Header header = HeaderParser(text, name).parse();
  check_type(header, wanted, name);
  if (header.fortran_order && header.shape.size() > 1) {
    throw error_in(name, "is in Fortran order; save it with numpy.ascontiguousarray");
  }
  const auto promised = promised_bytes(header, wanted);
  if (!promised.has_value() || static_cast<std::uint64_t>(*promised) != data.size()) {
    throw error_in(name, "promises the shape " + shape_text(header.shape) + ", " +
                             (promised.has_value() ? std::to_string(*promised) : "more than 2^62") +
                             " bytes, but holds " + std::to_string(data.size()) + " bytes of data");
  }
  std::vector<std::byte> bytes = as_bytes(data);
  if (stored_type(wanted) != wanted) bytes = to_bytes(to_values(bytes, stored_type(wanted)), wanted);
  return {.dtype = wanted, .shape = std::move(header.shape), .bytes = std::move(bytes)};
}

NpyArray read_npy(const std::string& path, Dtype wanted) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw error_in(path, "is a folder, not an .npy file");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw error_in(path, "cannot be opened: " + std::string(std::strerror(errno)));
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) throw error_in(path, "cannot be read");
  return parse_npy(content, wanted, path);
}

std::string format_npy(const NpyArray& array) {
  constexpr std::size_t alignment = 64;  // of the data, as NumPy does it
  std::string header = "{'descr': '" + std::string(descriptor_of(array.dtype)) +
                       "', 'fortran_order': False, 'shape': " + shape_text(array.shape) + ", }";
  const std::size_t prefix = magic.size() + 2 + 2;
  header.append(alignment - (prefix + header.size() + 1) % alignment, ' ');
  header += '\n';
  std::string content(magic);
  content += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  content += header;
  const Dtype stored = stored_type(array.dtype);
  const std::vector<std::byte> bytes =
      stored == array.dtype ? array.bytes : to_bytes(to_values(array.bytes, array.dtype), stored);
  content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return content;
}

void write_npy(const std::string& path, const NpyArray& array) {
  write_whole_file(path, format_npy(array));
}

std::string path_of_rank(std::string pattern, int rank) {
  constexpr std::string_view rank_marker = "{rank}";
  const std::string digits = std::to_string(rank);
  for (auto at = pattern.find(rank_marker); at != std::string::npos; at = pattern.find(rank_marker, at)) {
    pattern.replace(at, rank_marker.size(), digits);
  }
  return pattern;
}

}  // namespace iris
