#include "runtime/jit/cache_entry.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string_view>

#include "generator/manifest/atomic_file.hpp"
#include "generator/manifest/hash.hpp"
#include "runtime/system/private_files.hpp"

namespace iris {
namespace {

using nlohmann::json;

constexpr std::string_view format = "irisgen-code 2 ";  // and the SHA-256 of all that follows the line

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

std::string header_line(const CacheHeader& header, const Resources& resources) {
  const json object = {
      {"key", header.key},
      {"name", header.name},
      {"target", header.target},
      {"compiler", header.compiler},
      {"symbol", header.symbol},
      {"resources",
       {{"registers", to_json(resources.registers)},
        {"scalar_registers", to_json(resources.scalar_registers)},
        {"shared_bytes", to_json(resources.shared_bytes)},
        {"spill_bytes", to_json(resources.spill_bytes)}}},
  };
  return object.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
}

/// Cuts the first line off the text, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

CacheHeader header_of(const json& object) {
  return {object.at("key"), object.at("name"), object.at("target"), object.at("compiler"), object.at("symbol")};
}

/// Another one for each write of each process.
std::string unused_name() {
  static std::atomic<unsigned> count = 0;
  return std::to_string(::getpid()) + "-" + std::to_string(count++);
}

}  // namespace

bool is_partial_name(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789-") == std::string_view::npos;
}

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
  std::string content = header_line(header, code.resources);
  content += as_text(code.bytes);
  write_in_cache(file, partial, {format, sha256_hex(content), "\n", content});
}

std::optional<StoredCode> read_entry(const std::filesystem::path& file) try {
  const auto content = read_private_file(file);
  if (!content) return std::nullopt;
  std::string_view bytes = *content;
  const std::string_view first_line = take_line(bytes);
  if (first_line != std::string(format) + sha256_hex(bytes)) return std::nullopt;
  const json header = json::parse(take_line(bytes));
  StoredCode stored = {header_of(header), {}};
  stored.code.target = stored.header.target;
  stored.code.compiler = stored.header.compiler;
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  stored.code.bytes.assign(first, first + bytes.size());
  const json& resources = header.at("resources");
  stored.code.resources = {number(resources, "registers"), number(resources, "scalar_registers"),
                           number(resources, "shared_bytes"), number(resources, "spill_bytes")};
  stored.code.from_cache = true;
  return stored;
} catch (const json::exception&) {
  return std::nullopt;
}

std::optional<CacheHeader> read_header(const std::filesystem::path& file) try {
  constexpr std::size_t longest = 16 << 10;
  const auto content = read_private_file(file, longest);
  if (!content) return std::nullopt;
  std::string_view bytes = *content;
  if (!take_line(bytes).starts_with(format)) return std::nullopt;
  return header_of(json::parse(take_line(bytes)));
} catch (const json::exception&) {
  return std::nullopt;
}

}  // namespace iris
