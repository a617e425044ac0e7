#include "runtime/jit/cache_entry.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "generator/manifest/atomic_file.hpp"
#include "generator/manifest/hash.hpp"

namespace iris {
namespace {

using nlohmann::json;

constexpr std::string_view format_line = "irisgen-code 1";

std::string_view as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

json to_json(const std::optional<int>& value) {
  return value ? json(*value) : json(nullptr);
}

std::optional<int> number(const json& object, const char* key) {
  const json& value = object.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<int>());
}

std::string header_line(const CacheHeader& header, const CodeObject& code) {
  const json object = {
      {"name", header.name},
      {"target", header.target},
      {"compiler", header.compiler},
      {"symbol", header.symbol},
      {"size", code.bytes.size()},
      {"sha256", sha256_hex(as_text(code.bytes))},
      {"resources",
       {{"registers", to_json(code.resources.registers)},
        {"scalar_registers", to_json(code.resources.scalar_registers)},
        {"shared_bytes", to_json(code.resources.shared_bytes)},
        {"spill_bytes", to_json(code.resources.spill_bytes)}}},
  };
  return object.dump(-1, ' ', true, json::error_handler_t::replace);
}

/// The JSON line, with the stream at the first byte of the code.
std::optional<json> read_json(std::istream& stream) {
  std::string line;
  if (!std::getline(stream, line) || line != format_line || !std::getline(stream, line)) return std::nullopt;
  json object = json::parse(line, nullptr, false);
  return object.is_object() ? std::optional(std::move(object)) : std::nullopt;
}

/// Another one for each write of each process.
std::string unused_name() {
  static std::atomic<unsigned> count = 0;
  return std::to_string(::getpid()) + "-" + std::to_string(count++);
}

}  // namespace

void write_in_cache(const std::filesystem::path& file, const std::filesystem::path& partial,
                    std::initializer_list<std::string_view> contents) {
  constexpr int owner_only = 0600;
  AtomicFile output(AT_FDCWD, partial / unused_name(), owner_only, file);
  for (const std::string_view content : contents) output.write(content);
  output.flush();
  output.publish(AT_FDCWD, file);
}

void write_entry(const std::filesystem::path& file, const std::filesystem::path& partial, const CacheHeader& header,
                 const CodeObject& code) {
  write_in_cache(file, partial, {format_line, "\n", header_line(header, code), "\n", as_text(code.bytes)});
}

std::optional<CodeObject> read_entry(const std::filesystem::path& file) try {
  std::ifstream stream(file, std::ios::binary);
  const auto header = read_json(stream);
  if (!header) return std::nullopt;
  const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (bytes.size() != header->at("size").get<std::size_t>()) return std::nullopt;
  if (sha256_hex(bytes) != header->at("sha256").get<std::string>()) return std::nullopt;
  CodeObject code;
  code.target = header->at("target").get<std::string>();
  code.compiler = header->at("compiler").get<std::string>();
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  code.bytes.assign(first, first + bytes.size());
  const json& resources = header->at("resources");
  code.resources = {number(resources, "registers"), number(resources, "scalar_registers"),
                    number(resources, "shared_bytes"), number(resources, "spill_bytes")};
  code.from_cache = true;
  return code;
} catch (const json::exception&) {
  return std::nullopt;
}

std::optional<CacheHeader> read_header(const std::filesystem::path& file) try {
  std::ifstream stream(file, std::ios::binary);
  const auto header = read_json(stream);
  if (!header) return std::nullopt;
  return CacheHeader{header->at("name"), header->at("target"), header->at("compiler"), header->at("symbol")};
} catch (const json::exception&) {
  return std::nullopt;
}

}  // namespace iris
