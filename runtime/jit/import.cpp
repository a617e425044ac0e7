#include "iris/import.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/jit/compilers/ask.hpp"
#include "runtime/jit/compilers/source_diagnostics.hpp"

namespace iris {
namespace {

using nlohmann::json;

constexpr int usual_world = 8;
constexpr long long usual_extent = 4096;
constexpr int usual_constant = 4;

std::string text_of(const json& object, const char* key) {
  return object.at(key).get<std::string>();
}

/// `n: 4096` of each, with what is a guess in `guesses`.
std::string numbers_of(const json& items, long long usual, std::vector<std::string>& guesses) {
  std::string list;
  for (const json& item : items) {
    const auto value = item.at("value").get<long long>();
    const bool known = item.contains("known") ? item.at("known").get<bool>() : value > 0;
    if (!known) guesses.push_back(text_of(item, "name"));
    list += (list.empty() ? "" : ", ") + text_of(item, "name") + ": " + std::to_string(known ? value : usual);
  }
  return "{" + list + "}";
}

std::string guess(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return names.empty() ? "" : "  # a guess: " + list;
}

/// Identifiers of descriptions do not begin with an underscore, and are not long.
std::string identifier_of(const std::string& name) {
  constexpr std::size_t longest = 40;
  const std::size_t first = std::min(name.find_first_not_of('_'), name.size());
  const std::string text = name.substr(first, longest);
  return text.empty() ? "kernel" : text;
}

std::string config_of(const json& kernel) {
  std::string list;
  for (const char* key : {"blocks", "threads", "vector"}) {
    const int number = kernel.value(key, 0);
    if (number > 0) list += (list.empty() ? "" : ", ") + std::string(key) + ": " + std::to_string(number);
  }
  return list.empty() ? "" : "    config: {" + list + "}\n";
}

/// What the description says of buffers and numbers, in comments where the source says it, too.
std::string arguments_of(const json& kernel) {
  std::string comments;
  std::string said;
  for (const json& argument : kernel.at("arguments")) {
    const std::string name = text_of(argument, "name");
    const std::string access = text_of(argument, "access");
    const std::string dtype = text_of(argument, "dtype");
    comments += "    #   " + name + ": " +
                (access == "read"    ? "read"
                 : access == "write" ? "written"
                                     : "updated") +
                (dtype.empty() ? "" : ", " + dtype) +
                (argument.at("symmetric").get<bool>() ? ", on the symmetric heap" : "") + "\n";
    if (access == "update") said += "      " + name + ": {access: update}\n";
  }
  for (const json& scalar : kernel.at("scalars"))
    said += "      " + scalar.get<std::string>() + ": {value: 1}  # a guess\n";
  if (comments.empty()) return "";
  return "    # Buffers; each has all extents, unless arguments: says another shape, such as {shape: [n / world]}.\n" +
         comments + (said.empty() ? "" : "    arguments:\n" + said);
}

std::string description_of(const json& kernel, const ImportOptions& options) {
  const bool complete = kernel.at("complete").get<bool>();
  const std::string source = options.source;
  std::string text = "# First description of " + text_of(kernel, "entry") + ", by irisgen import.\n";
  if (!complete) text += "# It holds once the source is changed as `irisgen import` has listed.\n";
  text += "irisgen: 1\nkernels:\n";
  text += "  - name: " + identifier_of(text_of(kernel, "name")) + "\n";
  text += "    source: " + source + "\n";
  text += "    entry: " + text_of(kernel, "entry") + "\n";
  const std::string dtype = text_of(kernel, "dtype");
  text += "    dtype: " + (dtype.empty() ? "f32  # a guess: of Config::Element" : dtype) + "\n";
  const int known = kernel.at("world").get<int>();
  const int world = options.world > 0 ? options.world : known > 0 ? known : usual_world;
  text += "    world: " + std::to_string(world) + (options.world > 0 || known > 0 ? "" : "  # a guess") + "\n";
  std::vector<std::string> guesses;
  json extents = kernel.at("extents");
  if (extents.empty()) extents.push_back({{"name", "n"}, {"value", 0}});
  const std::string shape = numbers_of(extents, usual_extent, guesses);
  text += "    shape: " + shape + guess(guesses) + "\n";
  if (!kernel.at("constants").empty()) {
    guesses.clear();
    const std::string constants = numbers_of(kernel.at("constants"), usual_constant, guesses);
    text += "    constants: " + constants + guess(guesses) + "\n";
  }
  text += config_of(kernel) + arguments_of(kernel);
  return text + "    reference: none  # name what is right: {source: FILE.cpp, function: NAME}\n";
}

}  // namespace

ImportedKernel import_kernel(const std::string& name, const std::string& source, const ImportOptions& options) {
  const json answer = ask({{"task", "import_kernel"}, {"name", name}, {"source", source}, {"entry", options.entry}});
  ImportedKernel imported;
  imported.findings = source_diagnostics(answer.at("findings"));
  const json& kernel = answer.at("kernel");
  if (kernel.is_null()) return imported;
  imported.entry = text_of(kernel, "entry");
  imported.complete = kernel.at("complete").get<bool>();
  imported.description = description_of(kernel, options);
  return imported;
}

}  // namespace iris
