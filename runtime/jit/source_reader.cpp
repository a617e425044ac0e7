#include "iris/source_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "generator/manifest/hash.hpp"
#include "irisgen/user_kernel.hpp"
#include "runtime/jit/compilers/ask.hpp"
#include "runtime/jit/compilers/source_diagnostics.hpp"

namespace iris {
namespace {

using irisgen::FunctionQuestion;
using irisgen::KernelSource;
using irisgen::SourceDiagnostic;
using irisgen::SourceError;
using irisgen::SourceQuestion;
using nlohmann::json;

/// One byte more than Clang's side takes, which says that it is too much.
constexpr std::streamsize most_bytes = (1 << 20) + 1;

std::optional<std::string> read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;  // to open a pipe is to wait for its writer
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(most_bytes), '\0');
  if (!file.read(text.data(), most_bytes) && (file.bad() || file.gcount() == 0) && !file.eof()) return std::nullopt;
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// What all of them have.
KernelSource source_of(const std::string& file, const std::string& entry, const std::vector<std::string>& includes,
                       const json& answer) {
  KernelSource source;
  source.entry = entry;
  source.file = file;
  answer.at("takes_config").get_to(source.takes_config);
  answer.at("constants").get_to(source.constants);
  source.device_includes = includes;
  for (const json& include : answer.at("device_includes")) {
    if (std::ranges::find(includes, include.get<std::string>()) == includes.end())
      source.device_includes.push_back(include);
  }
  answer.at("macros").get_to(source.macros);
  answer.at("text").get_to(source.text);
  answer.at("files").get_to(source.files);
  return source;
}

KernelSource reference_source(KernelSource source, const json& answer) {
  for (const json& parameter : answer.at("parameters"))
    source.parameters.push_back({.name = parameter.at("name"), .is_buffer = parameter.at("is_buffer")});
  return source;
}

KernelSource values_source(KernelSource source, const json& answer) {
  answer.at("comment").get_to(source.comment);
  answer.at("place").get_to(source.place);
  for (const json& parameter : answer.at("parameters")) {
    source.parameters.push_back(
        {.name = parameter.at("name"), .comment = parameter.at("comment"), .place = parameter.at("place")});
  }
  return source;
}

KernelSource kernel_source(KernelSource source, const json& answer) {
  answer.at("waits").get_to(source.waits);
  answer.at("flags").get_to(source.flags);
  answer.at("comment").get_to(source.comment);
  answer.at("place").get_to(source.place);
  for (const json& parameter : answer.at("parameters")) {
    source.parameters.push_back({.name = parameter.at("name"),
                                 .is_buffer = parameter.at("is_buffer"),
                                 .scalar = scalar_type_from(parameter.at("scalar").get<std::string>()),
                                 .dtype = dtype_from(parameter.at("dtype").get<std::string>()).value(),
                                 .is_const = parameter.at("is_const"),
                                 .symmetric = parameter.at("symmetric"),
                                 .comment = parameter.at("comment"),
                                 .place = parameter.at("place")});
  }
  for (const json& term : answer.at("workspace")) {
    source.workspace.terms.push_back({.bytes = term.at("bytes"), .extents = term.at("extents")});
  }
  if (const json& launch = answer.at("launch"); !launch.is_null()) {
    source.launch = {.world = launch.at("world"),
                     .blocks = launch.at("blocks"),
                     .threads = launch.at("threads"),
                     .place = launch.at("place")};
  }
  return source;
}

/// Of the vocabulary, what the emitted entry needs whatever the source includes.
std::vector<std::string> includes_for(const SourceQuestion& question, bool is_kernel) {
  std::vector<std::string> includes = {"iris/device/numeric.hpp"};
  if (is_kernel) includes.insert(includes.begin(), "iris/device/context.hpp");
  if (question.config.find("using Operation") != std::string::npos) includes.emplace_back("iris/device/reduce.hpp");
  return includes;
}

/// A question for Clang, all that its answer depends on but for the content of files.
json question_of(const SourceQuestion& question, bool is_kernel) {
  json buffers = json::array();
  for (const SourceQuestion::Buffer& buffer : question.buffers)
    buffers.push_back({{"name", buffer.name}, {"is_const", buffer.is_const}});
  json scalars = json::object();
  for (const Scalar& scalar : question.scalars) scalars[scalar.name] = to_string(scalar.type);
  return {{"task", is_kernel ? "read_kernel" : "read_reference"},
          {"entry", question.entry},
          {"config", question.config},
          {"includes", includes_for(question, is_kernel)},
          {"extents", question.extents},
          {"buffers", buffers},
          {"scalars", scalars},
          {"named", question.named}};
}

class ClangReader final : public irisgen::SourceReader {
 public:
  KernelSource read_kernel(const SourceQuestion& question) const override {
    return read(question.folder, question.source, question_of(question, true), kernel_source);
  }
  KernelSource read_reference(const SourceQuestion& question) const override {
    return read(question.folder, question.source, question_of(question, false), reference_source);
  }
  KernelSource read_function(const FunctionQuestion& question) const override {
    return read(question.folder, question.source,
                {{"task", "read_function"},
                 {"entry", question.function},
                 {"type", question.type},
                 {"includes", {"iris/device/numeric.hpp"}}},
                values_source);
  }

 private:
  struct Known {
    KernelSource source;
    std::string hash;
  };

  /// `complete` adds what sources of that kind have beside the others'.
  KernelSource read(const std::string& folder, const std::string& file, json asked,
                    KernelSource (*complete)(KernelSource, const json&)) const {
    const std::string path = irisgen::path_from(folder, file);
    asked["name"] = path;
    asked["folder"] = path.substr(0, path.size() - file.size());
    const std::string key = asked.dump();
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key);
        known != known_.end() && known->second.hash == hash_of(known->second.source.files))
      return known->second.source;
    const std::optional<std::string> text = read_file(path);
    if (!text) throw std::runtime_error("no such file, or it may not be read: " + path);
    const auto entry = asked.at("entry").get<std::string>();
    const auto includes = asked.at("includes").get<std::vector<std::string>>();
    asked["source"] = *text;
    const json answer = ask(std::move(asked));
    refuse_if_wrong(file, entry, answer);
    KernelSource source = complete(source_of(file, entry, includes, answer), answer);
    const std::string hash = hash_of(source.files);
    return known_.insert_or_assign(key, Known{std::move(source), hash}).first->second.source;
  }

  static void refuse_if_wrong(const std::string& file, const std::string& entry, const json& answer) {
    std::vector<SourceDiagnostic> problems = source_diagnostics(answer.at("problems"));
    if (problems.empty()) return;
    const irisgen::SourceRange& first = problems.front().where;
    const std::string place = first.file + ":" + std::to_string(first.line);
    throw SourceError("'" + entry + "' of " + file + " cannot be read; see " + place, std::move(problems));
  }

  static std::string hash_of(const std::vector<std::string>& files) {
    std::string hashes;
    for (const std::string& file : files) hashes += sha256_hex(read_file(file).value_or(""));
    return hashes;
  }

  mutable std::mutex mutex_;
  mutable std::map<std::string, Known> known_;
};

}  // namespace

std::shared_ptr<const irisgen::SourceReader> source_reader() {
  static const auto reader = std::make_shared<const ClangReader>();
  return reader;
}

SourceLocator source_locator() {
  return [](const std::string& library, std::uint64_t offset) -> std::string {
    try {
      const json place = ask({{"task", "locate"}, {"name", "a kernel"}, {"file", library}, {"offset", offset}});
      const auto line = place.at("line").get<int>();
      const auto column = place.at("column").get<int>();
      return line == 0
                 ? ""
                 : place.at("file").get<std::string>() + ":" + std::to_string(line) + ":" + std::to_string(column);
    } catch (const std::runtime_error&) {
      return "";  // the report is about something else
    }
  };
}

void attach_source_reader(irisgen::Spec& spec) {
  for (irisgen::KernelSpec& kernel : spec.kernels) {
    if (kernel.user && !kernel.user->reader) kernel.user->reader = source_reader();
    if (!kernel.functions.none() && !kernel.functions.reader) kernel.functions.reader = source_reader();
  }
}

}  // namespace iris
