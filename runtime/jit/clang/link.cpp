#include "runtime/jit/clang/link.hpp"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>

#include "generator/manifest/descriptor.hpp"
#include "runtime/system/thread.hpp"

LLD_HAS_DRIVER(elf)

namespace iris::clang_library {
namespace {

/// What a call of the system returned. Throws std::system_error that names it, if it failed.
int checked(int result, const char* call) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), call);
  return result;
}

/// lld keeps its state in globals, and after a crash that state cannot be trusted any more.
struct Linker {
  std::mutex mutex;
  bool usable = true;
};

bool run_linker(const std::vector<std::string>& arguments, std::string& messages) {
  static Linker linker;
  const std::lock_guard lock(linker.mutex);
  llvm::raw_string_ostream stream(messages);
  if (!linker.usable) {
    stream << "error: the linker crashed earlier in this process and cannot be used again; run the program again\n";
    return false;
  }
  std::vector<const char*> pointers;
  pointers.reserve(arguments.size());
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  const lld::Result result = lld::lldMain(pointers, stream, stream, {{lld::Gnu, &lld::elf::link}});
  linker.usable = result.canRunAgain;
  return result.retCode == 0;
}

/// What the C library of every process has, and nothing that changes the world: memory, and mathematics in f64 and f32.
bool may_be_foreign(llvm::StringRef symbol) {
  static constexpr std::array<std::string_view, 7> exact = {
      "memcpy", "memmove", "memset", "memcmp", "bcmp", "", "_GLOBAL_OFFSET_TABLE_"};
  static constexpr std::array<std::string_view, 29> mathematics = {
      "fma",  "fmin", "fmax", "exp", "exp2", "expm1", "log",   "log2", "log10", "log1p",
      "sqrt", "cbrt", "pow",  "sin", "cos",  "tan",   "asin",  "acos", "atan",  "atan2",
      "sinh", "cosh", "tanh", "erf", "erfc", "fmod",  "floor", "ceil", "hypot"};
  const std::string_view name = symbol;
  const auto is = [](const auto& names, std::string_view one) { return std::ranges::find(names, one) != names.end(); };
  return is(exact, name) || is(mathematics, name) ||
         (name.ends_with('f') && is(mathematics, name.substr(0, name.size() - 1)));
}

std::future<std::optional<std::string>> read_beside(const Descriptor& descriptor) {
  try {
    return std::async(std::launch::async, [&descriptor] { return read_all(descriptor.get()); });
  } catch (const std::system_error& error) {
    throw cannot_start_thread("the linker", error.code());
  }
}

}  // namespace

Linking link_object(const TargetArguments& target, const std::string& object) {
  const Descriptor input(checked(memfd_create("irisgen-object", MFD_CLOEXEC), "memfd_create"));
  checked(write_all(input.get(), object) ? 0 : -1, "write");
  std::array<int, 2> ends = {-1, -1};
  checked(pipe2(ends.data(), O_CLOEXEC), "pipe");
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);

  std::vector<std::string> arguments = {"ld.lld"};
  arguments.insert(arguments.end(), target.linker.begin(), target.linker.end());
  arguments.insert(arguments.end(), {"--threads=1", "--build-id=none", "-o", writing.path(), input.path()});
  Linking result;
  // lld writes to a pipe in one go, which is longer than the pipe: another thread takes it out.
  auto image = read_beside(reading);
  const bool linked = run_linker(arguments, result.messages);
  writing.close();
  if (auto bytes = image.get(); bytes.has_value() && linked) result.image = *std::move(bytes);
  return result;
}

std::vector<std::string> foreign_symbols(const std::string& object) {
  std::vector<std::string> foreign;
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return foreign;
  }
  for (const auto& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      continue;
    }
    const bool undefined = (*flags & llvm::object::SymbolRef::SF_Undefined) != 0;
    const bool weak = (*flags & llvm::object::SymbolRef::SF_Weak) != 0;
    if (undefined && !weak && !may_be_foreign(*name)) foreign.push_back(llvm::demangle(std::string_view(*name)));
  }
  return foreign;
}

}  // namespace iris::clang_library
