#include "iris/cache.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "generator/cli/files.hpp"
#include "generator/cli/program.hpp"
#include "generator/cli/terminal.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* cache_footer =
    R"(Code objects are kept by the content of their source, options, compiler version and target; nothing in the cache can be
out of date. It lies in $IRISGEN_CACHE, else $XDG_CACHE_HOME/irisgen, else ~/.cache/irisgen.

Examples:
  irisgen cache list
  irisgen cache list --json | jq '[.entries[].bytes] | add'
  irisgen cache clear)";

std::int64_t seconds_since(std::filesystem::file_time_type time) {
  const auto age = std::filesystem::file_time_type::clock::now() - time;
  return std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(age).count());
}

std::string human_age(std::int64_t seconds) {
  constexpr std::int64_t minute = 60;
  constexpr std::int64_t hour = 60 * minute;
  constexpr std::int64_t day = 24 * hour;
  if (seconds < 2 * minute) return std::to_string(seconds) + " s ago";
  if (seconds < 2 * hour) return std::to_string(seconds / minute) + " min ago";
  if (seconds < 2 * day) return std::to_string(seconds / hour) + " h ago";
  return std::to_string(seconds / day) + " days ago";
}

ExitCode list_cache(bool json) {
  const iris::Cache& cache = iris::Cache::of_user();
  const auto entries = cache.list();
  if (json) {
    Json rows = Json::array();
    for (const iris::CacheEntry& entry : entries) {
      rows.push_back({{"key", entry.key},
                      {"name", entry.name},
                      {"target", entry.target},
                      {"compiler", entry.compiler},
                      {"bytes", entry.bytes},
                      {"seconds_since_use", seconds_since(entry.last_use)}});
    }
    print_json({{"folder", cache.folder().string()}, {"entries", std::move(rows)}});
    return ok;
  }
  std::uint64_t bytes = 0;
  Table table({"name", "compiler", "size", "used", "key"});
  for (const iris::CacheEntry& entry : entries) {
    bytes += entry.bytes;
    table.add({entry.name, entry.compiler, human_bytes(static_cast<double>(entry.bytes)),
               human_age(seconds_since(entry.last_use)), entry.key.substr(0, 12)});
  }
  if (!entries.empty()) table.print(std::cout, "");
  std::cout << cache_place() << ": " << entries.size() << (entries.size() == 1 ? " entry, " : " entries, ")
            << human_bytes(static_cast<double>(bytes)) << '\n';
  return ok;
}

ExitCode clear_cache() {
  const std::size_t count = iris::Cache::of_user().clear();
  std::cout << cache_place() << ": " << count << (count == 1 ? " entry" : " entries") << " removed\n";
  return ok;
}

}  // namespace

void add_cache(CLI::App& program, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand("cache", "List or clear the cache of compiled kernels");
  command->footer(cache_footer);
  command->require_subcommand(1);
  CLI::App* list = command->add_subcommand("list", "List what is kept, most recently used first");
  list->add_flag("--json", *json, "Print JSON");
  list->callback([json, &action] { action = [json] { return list_cache(*json); }; });
  CLI::App* clear = command->add_subcommand("clear", "Remove everything");
  clear->callback([&action] { action = clear_cache; });
}

}  // namespace irisgen::cli
