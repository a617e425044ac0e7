#include <clang/Basic/Version.h>
#include <dlfcn.h>
#include <llvm-c/Core.h>

#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/jit/clang/arguments.hpp"
#include "runtime/jit/clang/containment.hpp"
#include "runtime/jit/clang/frontend.hpp"
#include "runtime/jit/clang/interface.hpp"
#include "runtime/jit/clang/link.hpp"
#include "runtime/jit/clang/metadata.hpp"
#include "runtime/jit/clang/questions.hpp"

namespace iris::clang_library {
namespace {

/// An Outcome with the memory that its pointers point to.
struct OwnedOutcome : Outcome {
  std::string text;
  std::string image;
};

void fail(OwnedOutcome& outcome, std::string message) {
  outcome.ok = false;
  outcome.text = std::move(message);
  outcome.image.clear();
}

void build(const Request& request, const TargetArguments& target, OwnedOutcome& outcome) {
  const std::string prefix = std::string(request.name) + ": error: ";
  Compilation compilation = compile_to_object(
      target, request.name, request.source, {.line_tables = request.line_tables, .watch_stores = request.watch_stores});
  if (compilation.object.empty()) return fail(outcome, std::move(compilation.messages));
  if (!target.amd) {
    std::string missing;
    for (const std::string& symbol : foreign_symbols(compilation.object)) {
      missing.append(prefix).append("'").append(symbol);
      missing += "' is used but not defined; a kernel can call only what its own source defines\n";
    }
    if (!missing.empty()) return fail(outcome, std::move(missing));
  }
  Linking linking = link_object(target, compilation.object);
  if (linking.image.empty()) return fail(outcome, prefix + "linking failed\n" + linking.messages);
  outcome.ok = true;
  outcome.image = std::move(linking.image);
  if (target.amd) read_amd_resources(outcome.image, request.symbol, outcome);
}

void build_or_explain(const Request& request, const TargetArguments& target, OwnedOutcome& outcome) {
  try {
    build(request, target, outcome);
  } catch (const std::exception& error) {
    fail(outcome, std::string(request.name) + ": error: " + error.what());
  }
}

void answer_or_explain(const char* question, OwnedOutcome& outcome) {
  try {
    outcome.image = answer_question(question);
    outcome.ok = true;
  } catch (const std::exception& error) {
    fail(outcome, error.what());
  }
}

/// What `work` leaves in an outcome, contained; a crash is said of the file `name`, if there is one.
Outcome* contained(const char* name, const std::function<void(OwnedOutcome&)>& work) try {
  const std::string prefix = name == nullptr ? "" : std::string(name) + ": error: ";
  auto outcome = std::make_unique<OwnedOutcome>();
  outcome->registers = outcome->scalar_registers = outcome->shared_bytes = outcome->spill_bytes = -1;
  try {
    if (const auto crash = run_contained([&] { work(*outcome); })) {
      fail(*outcome, prefix + "the compiler crashed: " + *crash);
    }
  } catch (const std::runtime_error& error) {  // no thread could be started
    fail(*outcome, prefix + error.what());
  }
  outcome->message = outcome->text.c_str();
  outcome->bytes = reinterpret_cast<const unsigned char*>(outcome->image.data());
  outcome->size = outcome->image.size();
  return outcome.release();
} catch (const std::bad_alloc&) {
  return nullptr;
}

Outcome* compile(const Request* request) {
  return contained(request->name, [&](OwnedOutcome& outcome) {
    const TargetArguments* target = find_target_arguments(request->target);
    if (target == nullptr) {
      return fail(outcome, std::string(request->name) + ": error: clang has no target '" + request->target + "' here");
    }
    build_or_explain(*request, *target, outcome);
  });
}

Outcome* answer(const char* question) {
  return contained(nullptr, [&](OwnedOutcome& outcome) { answer_or_explain(question, outcome); });
}

void release(Outcome* outcome) {
  delete static_cast<OwnedOutcome*>(outcome);
}

/// The file that a function comes from.
std::string file_of(const void* function) {
  Dl_info info = {};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

const char* const* files() {
  static const std::string clang = file_of(reinterpret_cast<const void*>(&clang::getClangFullVersion));
  static const std::string llvm = file_of(reinterpret_cast<const void*>(&LLVMGetVersion));
  static const char* const names[] = {clang.c_str(), llvm.c_str(), nullptr};
  return names;
}

const char* const* targets() {
  static const std::vector<const char*> names = [] {
    std::vector<const char*> result;
    for (const TargetArguments& target : target_arguments()) result.push_back(target.name.c_str());
    result.push_back(nullptr);
    return result;
  }();
  return names.data();
}

std::string joined(const TargetArguments& target) {
  std::string line;
  for (const auto* arguments : {&target.frontend, &target.linker}) {
    for (const std::string& argument : *arguments) line += (line.empty() ? "" : " ") + argument;
  }
  return line;
}

const char* options(const char* name) {
  static const std::vector<std::string> lines = [] {
    std::vector<std::string> result;
    for (const TargetArguments& target : target_arguments()) result.push_back(joined(target));
    return result;
  }();
  const TargetArguments* target = find_target_arguments(name);
  return target == nullptr ? nullptr : lines[static_cast<std::size_t>(target - target_arguments().data())].c_str();
}

/// Of "Debian clang version 22.1.8 (1~deb12u1)" what follows the name.
std::string version_number() {
  const std::string full = clang::getClangFullVersion();
  constexpr std::string_view before = "clang version ";
  const std::size_t at = full.find(before);
  return at == std::string::npos ? full : full.substr(at + before.size());
}

}  // namespace
}  // namespace iris::clang_library

extern "C" __attribute__((visibility("default"))) const iris::clang_library::Interface* irisgen_clang_interface() {
  using namespace iris::clang_library;
  static const std::string version = version_number();
  static const Interface interface = {interface_version, version.c_str(), files(), targets(),
                                      options,           compile,         answer,  release};
  return &interface;
}
