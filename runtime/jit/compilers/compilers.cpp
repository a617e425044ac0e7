#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "iris/compiler.hpp"
#include "irisgen/diagnostic.hpp"
#include "runtime/jit/compilers/table.hpp"
#include "runtime/system/address_space.hpp"

namespace iris {
namespace {

/// A compiler that a machine may have.
struct Row {
  const char* name;
  std::array<bool, 3> platforms;  ///< by irisgen::Platform: whether it may do targets of it
  /// Opened at the first call. Never destroyed: GPU libraries do not bear being unloaded while the process ends.
  const FoundCompiler& (*found)(const char* name);
};

/// What a compiler's library and its work take of address space. Where that is not to be had, libraries of this size
/// end the process rather than report it.
constexpr std::uint64_t address_space = std::uint64_t{768} << 20;

FoundCompiler find_within_limits(const char* name, FoundCompiler (*find)()) {
  const auto left = address_space_left();
  if (!left || *left >= address_space) return find();
  return MissingCompiler{name,
                         "it takes " + std::to_string(address_space >> 20) +
                             " MiB of address space, and this process may have " + std::to_string(*left >> 20) +
                             " MiB more",
                         "raise the limit (ulimit -v)"};
}

template <FoundCompiler (*Find)()>
const FoundCompiler& once(const char* name) {
  static const FoundCompiler* const found = new FoundCompiler(find_within_limits(name, Find));
  return *found;
}

/// In the order of preference where two do the same target.
constexpr std::array<Row, 3> rows = {{
    {"hiprtc", {false, true, false}, once<find_hiprtc>},
    {"clang", {true, true, false}, once<find_clang>},
    {"nvrtc", {false, false, true}, once<find_nvrtc>},
}};

const Compiler* present(const FoundCompiler& found) {
  const auto* compiler = std::get_if<std::shared_ptr<const Compiler>>(&found);
  return compiler == nullptr ? nullptr : compiler->get();
}

bool compiles(const Compiler& compiler, std::string_view target) {
  const auto targets = compiler.targets();
  return std::ranges::find(targets, target) != targets.end();
}

bool may_compile(const Row& row, irisgen::Platform platform) {
  return row.platforms[static_cast<std::size_t>(platform)];
}

/// Whether a compiler could do targets of a platform if it were there.
bool may_compile(std::string_view name, irisgen::Platform platform) {
  const auto* row = std::ranges::find_if(rows, [&](const Row& row) { return row.name == name; });
  return row != rows.end() && may_compile(*row, platform);
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
    if (missing.name == name) throw std::runtime_error(sentence(missing));
  }
  throw std::runtime_error("there is no compiler '" + std::string(name) + "'" +
                           irisgen::suggestion(name, compiler_names()));
}

}  // namespace

const std::vector<std::string_view>& compiler_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    all.reserve(rows.size());
    for (const Row& row : rows) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

const FoundCompiler& found_compiler(std::string_view name) {
  const Row& row = *std::ranges::find_if(rows, [&](const Row& row) { return row.name == name; });
  return row.found(row.name);
}

std::string sentence(const MissingCompiler& missing) {
  return missing.name + " is not on this machine: " + missing.reason + "; " + missing.remedy;
}

const Compilers& Compilers::instance() {
  static const Compilers* const compilers = [] {
    auto* all = new Compilers;
    for (const Row& row : rows) {
      const FoundCompiler& found = row.found(row.name);
      if (const auto* compiler = std::get_if<std::shared_ptr<const Compiler>>(&found)) {
        all->present.push_back(*compiler);
      } else {
        all->missing.push_back(std::get<MissingCompiler>(found));
      }
    }
    return all;
  }();
  return *compilers;
}

const Compiler& find_compiler(const irisgen::Target& target, std::string_view preferred) {
  for (const Row& row : rows) {
    if (!may_compile(row, target.platform) || (!preferred.empty() && preferred != row.name)) continue;
    const Compiler* compiler = present(row.found(row.name));
    if (compiler != nullptr && compiles(*compiler, target.name)) return *compiler;
  }
  return Compilers::instance().find(target, preferred);  // throws: it knows what each one lacks
}

const Compiler& Compilers::find(const irisgen::Target& target, std::string_view preferred) const {
  if (!preferred.empty()) return find_named(*this, target, preferred);
  for (const auto& compiler : present) {
    if (compiles(*compiler, target.name)) return *compiler;
  }
  std::string message = "no compiler for " + std::string(target.name) + " on this machine";
  for (const auto& compiler : present) {
    if (may_compile(compiler->name(), target.platform)) {
      message += "\n  " + std::string(compiler->name()) + ": its targets are: " + list_of_targets(*compiler);
    }
  }
  for (const MissingCompiler& compiler : missing) {
    if (may_compile(compiler.name, target.platform)) {
      message += "\n  " + compiler.name + ": " + compiler.reason + "; " + compiler.remedy;
    }
  }
  throw std::runtime_error(message);
}

}  // namespace iris
