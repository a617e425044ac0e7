#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Texts and values as bytes for another process of this machine. Each text stands behind its length, 8 bytes in the
/// machine's own order.
namespace iris {

inline std::string pack(std::span<const std::string> texts) {
  std::size_t total = 0;
  for (const std::string& text : texts) total += sizeof(std::uint64_t) + text.size();
  std::string bytes;
  bytes.reserve(total);
  for (const std::string& text : texts) {
    const std::uint64_t length = text.size();
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
    bytes += text;
  }
  return bytes;
}
inline std::string pack(std::initializer_list<std::string> texts) {
  return pack(std::span(texts.begin(), texts.size()));
}

/// Throws std::runtime_error for bytes that pack() did not make.
inline std::vector<std::string> unpack(std::string_view bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) {
    std::uint64_t length = 0;
    if (bytes.size() >= sizeof length) std::memcpy(&length, bytes.data(), sizeof length);
    if (bytes.size() < sizeof length || length > bytes.size() - sizeof length) {
      throw std::runtime_error(
          "another process sent what this irisgen does not understand; start the same one on "
          "every rank");
    }
    texts.emplace_back(bytes.substr(sizeof length, length));
    bytes.remove_prefix(sizeof length + length);
  }
  return texts;
}

/// The same, of so many texts.
inline std::vector<std::string> unpack(std::string_view bytes, std::size_t count) {
  std::vector<std::string> texts = unpack(bytes);
  if (texts.size() != count) throw std::runtime_error("another process sent a message of another irisgen");
  return texts;
}

/// Values as they lie in memory.
template <typename Value>
std::string pack_values(const std::vector<Value>& values) {
  static_assert(std::is_trivially_copyable_v<Value>);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}
template <typename Value>
std::vector<Value> unpack_values(const std::string& bytes) {
  std::vector<Value> values(bytes.size() / sizeof(Value));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Value));
  return values;
}

}  // namespace iris
