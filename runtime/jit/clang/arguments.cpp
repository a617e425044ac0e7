#include "runtime/jit/clang/arguments.hpp"

#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <iterator>

namespace iris::clang_library {
namespace {

// What the driver would pass to `clang -cc1` is written out here, because the driver looks around on the machine (GCC,
// headers, ROCm) and the same source must give the same code everywhere.
constexpr const char* common_arguments[] = {
    "-emit-obj",
    "-O3",
    "-std=c++20",
    "-ffreestanding",
    "-fno-rtti",
    "-fgnuc-version=4.2.1",
    "-ffp-contract=off",
    "-fno-rounding-math",
    "-fno-threadsafe-statics",
    "-mrelocation-model",
    "pic",
    "-pic-level",
    "2",
    "-mframe-pointer=none",
    "-mconstructor-aliases",
    "-vectorize-loops",
    "-vectorize-slp",
    "-disable-llvm-verifier",
    "-discard-value-names",
    "-clear-ast-before-backend",
    "-nostdsysteminc",
    "-nobuiltininc",
    "-ferror-limit",
    "20",
    "-w",
};

std::vector<std::string> with_common(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), std::begin(common_arguments), std::end(common_arguments));
  return arguments;
}

TargetArguments host_arguments() {
  const llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  // The oldest CPU of the architecture, not the one of this machine: results and cached code hold for every machine.
  const bool arm = triple.isAArch64();
  TargetArguments target;
  target.name = "host";
  target.frontend = with_common({"-triple", triple.str(), "-x", "c++", "-target-cpu", arm ? "generic" : "x86-64"});
  if (arm) target.frontend.insert(target.frontend.end(), {"-target-feature", "+neon"});
  // Debuggers and profilers walk through the kernel's frames; those of more than a page do not step over the one that
  // guards the stack.
  target.frontend.insert(target.frontend.end(), {"-funwind-tables=2", "-fstack-clash-protection"});
  target.linker = {
      "-m", arm ? "aarch64linux" : "elf_x86_64", "-shared", "-Bsymbolic", "--hash-style=gnu", "--eh-frame-hdr"};
  return target;
}

TargetArguments amd_arguments(const std::string& name) {
  TargetArguments target;
  target.name = name;
  target.amd = true;
  target.frontend = with_common({"-triple", "amdgcn-amd-amdhsa", "-aux-triple", llvm::sys::getDefaultTargetTriple(),
                                 "-x", "hip", "-fcuda-is-device", "-fcuda-allow-variadic-functions",
                                 "-fvisibility=hidden", "-fapply-global-visibility-to-externs", "-target-cpu", name,
                                 // The newest that every ROCm with these targets loads.
                                 "-mcode-object-version=5"});
  target.linker = {"-m", "elf64_amdgpu", "--no-undefined", "-shared"};
  return target;
}

}  // namespace

const std::vector<TargetArguments>& target_arguments() {
  static const std::vector<TargetArguments> all = {host_arguments(), amd_arguments("gfx90a"), amd_arguments("gfx942"),
                                                   amd_arguments("gfx950")};
  return all;
}

std::vector<std::string> syntax_arguments() {
  std::vector<std::string> arguments = host_arguments().frontend;
  std::ranges::replace(arguments, "-emit-obj", "-fsyntax-only");
  return arguments;
}

const TargetArguments* find_target_arguments(std::string_view name) {
  const auto& all = target_arguments();
  const auto found = std::ranges::find(all, name, &TargetArguments::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace iris::clang_library
