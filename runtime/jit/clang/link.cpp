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
#include <string_view>
#include <system_error>

LLD_HAS_DRIVER(elf)

namespace iris::clang_library {
namespace {

class Descriptor {
 public:
  Descriptor(int number, const char* what) : number_(number) {
    if (number < 0) throw std::system_error(errno, std::generic_category(), what);
  }
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  /// Names the open file for code that takes a path.
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

void write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "write");
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_all(int file) {
  std::string bytes;
  std::array<char, 1 << 16> piece;
  while (true) {
    const ssize_t count = read(file, piece.data(), piece.size());
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "read");
    if (count == 0) return bytes;
    if (count > 0) bytes.append(piece.data(), static_cast<std::size_t>(count));
  }
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

bool may_be_foreign(llvm::StringRef symbol) {
  static constexpr std::array<std::string_view, 13> allowed = {"memcpy", "memmove", "memset", "memcmp",
                                                               "bcmp",   "fma",     "fmaf",   "fmin",
                                                               "fminf",  "fmax",    "fmaxf",  "_GLOBAL_OFFSET_TABLE_",
                                                               ""};
  return std::ranges::find(allowed, std::string_view(symbol)) != allowed.end();
}

std::future<std::string> read_beside(const Descriptor& descriptor) {
  try {
    return std::async(std::launch::async, [&descriptor] { return read_all(descriptor.number()); });
  } catch (const std::system_error& error) {
    throw std::runtime_error("cannot start a thread to link with: " + error.code().message() +
                             "; raise the limit of processes (ulimit -u) or of address space (ulimit -v)");
  }
}

}  // namespace

Linking link_object(const TargetArguments& target, const std::string& object) {
  const Descriptor input(memfd_create("irisgen-object", MFD_CLOEXEC), "memfd_create");
  write_all(input.number(), object);
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const Descriptor reading(ends[0], "pipe");
  Descriptor writing(ends[1], "pipe");

  std::vector<std::string> arguments = {"ld.lld"};
  arguments.insert(arguments.end(), target.linker.begin(), target.linker.end());
  arguments.insert(arguments.end(), {"--threads=1", "--build-id=none", "-o", writing.path(), input.path()});
  Linking result;
  // lld writes to a pipe in one go, which is longer than the pipe: another thread takes it out.
  auto image = read_beside(reading);
  const bool linked = run_linker(arguments, result.messages);
  writing.close();
  result.image = image.get();
  if (!linked) result.image.clear();
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
