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

/// What kernels and references have.
KernelSource function_source(const SourceQuestion& question, const json& answer) {
  KernelSource source;
  source.entry = question.entry;
  source.file = question.source;
  answer.at("takes_config").get_to(source.takes_config);
  answer.at("constants").get_to(source.constants);
  answer.at("macros").get_to(source.macros);
  answer.at("text").get_to(source.text);
  answer.at("files").get_to(source.files);
  return source;
}

KernelSource reference_source(const SourceQuestion& question, const json& answer) {
  KernelSource source = function_source(question, answer);
  for (const json& parameter : answer.at("parameters"))
    source.parameters.push_back({.name = parameter.at("name"), .is_buffer = parameter.at("is_buffer")});
  return source;
}

KernelSource kernel_source(const SourceQuestion& question, const json& answer) {
  KernelSource source = function_source(question, answer);
  answer.at("waits").get_to(source.waits);
  answer.at("flags").get_to(source.flags);
  answer.at("comment").get_to(source.comment);
  answer.at("place").get_to(source.place);
  for (const json& parameter : answer.at("parameters")) {
    source.parameters.push_back({.name = parameter.at("name"),
                                 .is_buffer = parameter.at("is_buffer"),
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

enum class Kind { kernel, reference };

/// Of the vocabulary, what the emitted entry needs whatever the source includes.
std::vector<std::string> includes_for(const SourceQuestion& question, Kind kind) {
  std::vector<std::string> includes = {"iris/device/numeric.hpp"};
  if (kind == Kind::kernel) includes.insert(includes.begin(), "iris/device/context.hpp");
  if (question.config.find("using Operation") != std::string::npos) includes.emplace_back("iris/device/reduce.hpp");
  return includes;
}

/// All that the answer depends on, but for the content of files.
json question_for_clang(const SourceQuestion& question, Kind kind, const std::string& path) {
  json buffers = json::array();
  for (const SourceQuestion::Buffer& buffer : question.buffers)
    buffers.push_back({{"name", buffer.name}, {"is_const", buffer.is_const}});
  return {{"task", kind == Kind::kernel ? "read_kernel" : "read_reference"},
          {"name", path},
          {"folder", path.substr(0, path.size() - question.source.size())},
          {"entry", question.entry},
          {"config", question.config},
          {"includes", includes_for(question, kind)},
          {"extents", question.extents},
          {"buffers", buffers}};
}

KernelSource source_from(const SourceQuestion& question, Kind kind, const json& answer) {
  std::vector<SourceDiagnostic> problems = source_diagnostics(answer.at("problems"));
  if (!problems.empty()) {
    const irisgen::SourceRange& first = problems.front().where;
    throw SourceError("'" + question.entry + "' of " + question.source + " cannot be read; see " + first.file + ":" +
                          std::to_string(first.line),
                      std::move(problems));
  }
  KernelSource source = kind == Kind::kernel ? kernel_source(question, answer) : reference_source(question, answer);
  source.device_includes = includes_for(question, kind);
  const std::vector<std::string> includes = source.device_includes;
  for (const json& include : answer.at("device_includes")) {
    if (std::ranges::find(includes, include.get<std::string>()) == includes.end())
      source.device_includes.push_back(include);
  }
  return source;
}

class ClangReader final : public irisgen::SourceReader {
 public:
  KernelSource read_kernel(const SourceQuestion& question) const override { return read(question, Kind::kernel); }
  KernelSource read_reference(const SourceQuestion& question) const override { return read(question, Kind::reference); }

 private:
  struct Known {
    KernelSource source;
    std::string hash;
  };

  KernelSource read(const SourceQuestion& question, Kind kind) const {
    const std::string path = irisgen::path_from(question.folder, question.source);
    json asked = question_for_clang(question, kind, path);
    const std::string key = asked.dump();
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key);
        known != known_.end() && known->second.hash == hash_of(known->second.source.files))
      return known->second.source;
    const std::optional<std::string> text = read_file(path);
    if (!text) throw std::runtime_error("no such file, or it may not be read: " + path);
    asked["source"] = *text;
    KernelSource source = source_from(question, kind, ask(std::move(asked)));
    const std::string hash = hash_of(source.files);
    return known_.insert_or_assign(key, Known{std::move(source), hash}).first->second.source;
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
  }
}

}  // namespace iris
