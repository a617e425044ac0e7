#include "runtime/jit/compilers/clang.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/jit/compilers/containment.hpp"
#include "runtime/jit/compilers/table.hpp"

namespace iris {
namespace {

using clang_library::Outcome;

std::optional<int> known(int value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

/// Of a call of the library, nullptr where memory is exhausted.
using OwnedOutcome = std::unique_ptr<Outcome, void (*)(Outcome*)>;

/// Whether no stranger can have put the file there: it and its folder are root's or this user's, and not everybody may
/// write to them. A group may: people who install with a group of their own have umask 002.
bool is_trusted(const std::filesystem::path& file) {
  for (const std::filesystem::path& path : {file, file.parent_path()}) {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) return false;
    if (status.st_uid != 0 && status.st_uid != geteuid()) return false;
    if ((status.st_mode & S_IWOTH) != 0) return false;
  }
  return true;
}

/// Where the loader looks, which knows the build tree or the package that the program was linked with; then beside an
/// installed program, unless another user may have put it there; then where the package was configured to lie.
std::vector<std::string> candidates() {
  if (const char* named = std::getenv("IRISGEN_CLANG_LIBRARY")) return {named};
  const std::filesystem::path file = "libirisgen_clang.so";
  std::vector<std::string> paths = {file};
  for (const std::string& searched : own_search_path()) paths.push_back(std::filesystem::path(searched) / file);
  const std::filesystem::path folder = std::filesystem::path(own_file()).parent_path();
  const std::filesystem::path installed =
      (folder / ".." / IRISGEN_LIBRARY_FOLDER / "irisgen" / file).lexically_normal();
  if (!folder.empty() && is_trusted(installed)) paths.push_back(installed);
  paths.push_back(std::filesystem::path(IRISGEN_INSTALLED_FOLDER) / file);
  return paths;
}

}  // namespace

Clang::Clang(DynamicLibrary library) : library_(std::move(library)) {
  clang_library::Entry entry = nullptr;
  library_.bind(entry, clang_library::entry_name);
  interface_ = entry();
  if (interface_->version != clang_library::interface_version) {
    throw std::runtime_error(library_.name() + " belongs to another version of irisgen");
  }
}

std::vector<std::string> Clang::files() const {
  std::vector<std::string> paths = {library_.path()};
  for (const char* const* file = interface_->files; *file != nullptr; ++file) paths.emplace_back(*file);
  return paths;
}

std::vector<std::string> Clang::targets() const {
  std::vector<std::string> names;
  for (const char* const* target = interface_->targets; *target != nullptr; ++target) {
    if (irisgen::find_target(*target) != nullptr) names.emplace_back(*target);
  }
  return names;
}

std::string Clang::options(const irisgen::Target& target) const {
  const char* line = interface_->options(std::string(target.name).c_str());
  return line == nullptr ? "" : line;
}

CodeObject Clang::compile(const CompileRequest& request) const {
  const std::string target(request.target->name);
  const clang_library::Request passed = {request.name.c_str(), request.source.c_str(), request.symbol.c_str(),
                                         target.c_str(),       request.line_tables,    request.watch_stores};
  const SignalHandlers handlers;
  const OwnedOutcome outcome(interface_->compile(&passed), interface_->release);
  if (outcome == nullptr) throw CompileError(request.name + ": error: out of memory");
  if (!outcome->ok) throw CompileError(outcome->message);
  CodeObject code;
  code.target = target;
  code.compiler = "clang " + version();
  const auto* first = reinterpret_cast<const std::byte*>(outcome->bytes);
  code.bytes.assign(first, first + outcome->size);
  code.resources = {known(outcome->registers), known(outcome->scalar_registers), known(outcome->shared_bytes),
                    known(outcome->spill_bytes)};
  return code;
}

nlohmann::json Clang::answer(const nlohmann::json& question) const {
  using nlohmann::json;
  const SignalHandlers handlers;
  const OwnedOutcome outcome(interface_->answer(question.dump(-1, ' ', false, json::error_handler_t::replace).c_str()),
                             interface_->release);
  if (outcome == nullptr) throw std::runtime_error("out of memory");
  if (!outcome->ok) throw std::runtime_error(outcome->message);
  return json::parse(outcome->bytes, outcome->bytes + outcome->size);
}

FoundCompiler find_clang() {
  try {
    return std::make_shared<const Clang>(DynamicLibrary::open_first(candidates()));
  } catch (const std::runtime_error& error) {
    return MissingCompiler{
        "clang", error.what(),
        "build irisgen with -DIRISGEN_CLANG=ON and install libclang-cpp22 and libllvm22 (apt.llvm.org), "
        "or name libirisgen_clang.so in IRISGEN_CLANG_LIBRARY"};
  }
}

}  // namespace iris
