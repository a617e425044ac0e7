#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/compiler.hpp"
#include "runtime/compilers/table.hpp"

namespace iris {
namespace {

/// Every compiler, in the order of preference where two do the same target.
constexpr FoundCompiler (*finders[])() = {find_hiprtc, find_clang, find_nvrtc};

Compilers find_all() {
  Compilers compilers;
  for (const auto finder : finders) {
    FoundCompiler found = finder();
    if (auto* compiler = std::get_if<std::unique_ptr<Compiler>>(&found)) {
      compilers.present.push_back(std::move(*compiler));
    } else {
      compilers.missing.push_back(std::get<MissingCompiler>(std::move(found)));
    }
  }
  return compilers;
}

bool compiles(const Compiler& compiler, std::string_view target) {
  const auto targets = compiler.targets();
  return std::ranges::find(targets, target) != targets.end();
}

/// Whether a compiler could do a target if it were there.
bool would_compile(std::string_view compiler, irisgen::Platform platform) {
  if (compiler == "nvrtc") return platform == irisgen::Platform::nvidia;
  if (compiler == "hiprtc") return platform == irisgen::Platform::amd;
  return platform != irisgen::Platform::nvidia;
}

std::string list_of_targets(const Compiler& compiler) {
  std::string list;
  for (const std::string& target : compiler.targets()) list += (list.empty() ? "" : ", ") + target;
  return list.empty() ? "none" : list;
}

const Compiler& find_named(const Compilers& compilers, const irisgen::Target& target, std::string_view name) {
  for (const auto& compiler : compilers.present) {
    if (compiler->name() != name) continue;
    if (compiles(*compiler, target.name)) return *compiler;
    throw std::runtime_error(std::string(name) + " " + compiler->version() + " does not compile for " +
                             std::string(target.name) + "; its targets are: " + list_of_targets(*compiler));
  }
  for (const MissingCompiler& missing : compilers.missing) {
    if (missing.name == name) {
      throw std::runtime_error(missing.name + " is not on this machine: " + missing.reason + "; " + missing.remedy);
    }
  }
  throw std::runtime_error("there is no compiler '" + std::string(name) + "'; one of: hiprtc, clang, nvrtc");
}

}  // namespace

const Compilers& Compilers::instance() {
  // Never destroyed: GPU libraries do not bear being unloaded while the process ends.
  static const Compilers* const compilers = new Compilers(find_all());
  return *compilers;
}

const Compiler& Compilers::find(const irisgen::Target& target, std::string_view preferred) const {
  if (!preferred.empty()) return find_named(*this, target, preferred);
  for (const auto& compiler : present) {
    if (compiles(*compiler, target.name)) return *compiler;
  }
  std::string message = "no compiler for " + std::string(target.name) + " on this machine";
  for (const auto& compiler : present) {
    if (would_compile(compiler->name(), target.platform)) {
      message += "\n  " + std::string(compiler->name()) + ": its targets are: " + list_of_targets(*compiler);
    }
  }
  for (const MissingCompiler& compiler : missing) {
    if (would_compile(compiler.name, target.platform)) {
      message += "\n  " + compiler.name + ": " + compiler.reason + "; " + compiler.remedy;
    }
  }
  throw std::runtime_error(message);
}

}  // namespace iris
