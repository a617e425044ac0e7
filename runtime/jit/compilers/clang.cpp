#include "runtime/jit/clang/interface.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "runtime/jit/compilers/containment.hpp"
#include "runtime/jit/compilers/table.hpp"
#include "runtime/system/dynamic_library.hpp"

namespace iris {
namespace {

using clang_library::Interface;
using clang_library::Outcome;

std::optional<int> known(int value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

class Clang : public Compiler {
 public:
  explicit Clang(DynamicLibrary library) : library_(std::move(library)) {
    clang_library::Entry entry = nullptr;
    library_.bind(entry, clang_library::entry_name);
    interface_ = entry();
    if (interface_->version != clang_library::interface_version) {
      throw std::runtime_error(library_.name() + " belongs to another version of irisgen");
    }
  }

  std::string_view name() const override { return "clang"; }
  std::string version() const override { return interface_->compiler_version; }

  std::vector<std::string> files() const override {
    std::vector<std::string> paths = {library_.path()};
    for (const char* const* file = interface_->files; *file != nullptr; ++file) paths.emplace_back(*file);
    return paths;
  }

  std::vector<std::string> targets() const override {
    std::vector<std::string> names;
    for (const char* const* target = interface_->targets; *target != nullptr; ++target) {
      if (irisgen::find_target(*target) != nullptr) names.emplace_back(*target);
    }
    return names;
  }

  std::string options(const irisgen::Target& target) const override {
    const char* line = interface_->options(std::string(target.name).c_str());
    return line == nullptr ? "" : line;
  }

  CodeObject compile(const CompileRequest& request) const override {
    const std::string target(request.target->name);
    const clang_library::Request passed = {request.name.c_str(), request.source.c_str(), request.symbol.c_str(),
                                           target.c_str()};
    const SignalHandlers handlers;
    const std::unique_ptr<Outcome, void (*)(Outcome*)> outcome(interface_->compile(&passed), interface_->release);
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

 private:
  DynamicLibrary library_;
  const Interface* interface_ = nullptr;
};

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
  const std::filesystem::path folder = std::filesystem::path(own_file()).parent_path();
  const std::filesystem::path installed =
      (folder / ".." / IRISGEN_LIBRARY_FOLDER / "irisgen" / file).lexically_normal();
  if (!folder.empty() && is_trusted(installed)) paths.push_back(installed);
  paths.push_back(std::filesystem::path(IRISGEN_INSTALLED_FOLDER) / file);
  return paths;
}

}  // namespace

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
