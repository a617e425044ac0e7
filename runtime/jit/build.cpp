#include <chrono>
#include <cmath>
#include <cstdlib>
#include <future>
#include <span>
#include <stdexcept>
#include <utility>

#include "generator/manifest/hash.hpp"
#include "iris/jit.hpp"
#include "runtime/jit/build.hpp"
#include "runtime/system/build_id.hpp"
#include "runtime/system/dynamic_library.hpp"
#include "runtime/system/log.hpp"

namespace iris {
namespace {

/// Over what decides the code as far as it is known before a compiler is opened, which takes longer than all the rest:
/// this program itself (it holds the compilers' options), the environment that says where they are, and the request.
std::string make_short_key(const CompileRequest& request, std::string_view compiler) {
  static const std::string own_id = build_id(own_file());
  std::string text = own_id;
  const auto add = [&text](std::string_view part) { text.append("\n").append(part); };
  for (const char* variable : {"IRISGEN_CLANG_LIBRARY", "CUDA_HOME", "LD_LIBRARY_PATH"}) {
    const char* value = std::getenv(variable);
    add(value == nullptr ? "" : value);
  }
  add(compiler);
  add(request.target->name);
  add(request.symbol);
  add(request.line_tables ? "line tables" : "");
  add(request.watch_stores ? "watched stores" : "");
  add(request.source);
  return sha256_hex(text);
}

CodeObject find_or_compile(const CompileRequest& request, std::string_view compiler, Cache& cache) {
  const std::string short_key = make_short_key(request, compiler);
  if (auto code = cache.lookup(short_key)) return *std::move(code);
  const Compiler& chosen = find_compiler(*request.target, compiler);
  CodeObject code = build(request, chosen, cache);
  cache.remember(short_key, cache_key(request, chosen), chosen.files());
  return code;
}

}  // namespace

CodeObject build(const CompileRequest& request, std::string_view compiler, Cache& cache) {
  const auto start = std::chrono::steady_clock::now();
  CodeObject code = find_or_compile(request, compiler, cache);
  log(LogLevel::info, [&] {
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    return request.symbol + " for " + std::string(request.target->name) +
           (code.from_cache ? ": from the cache in " : ": compiled by " + code.compiler + " in ") +
           std::to_string(std::llround(time.count())) + " ms";
  });
  return code;
}

namespace {

/// Beside one another: compilers take a time that people notice.
std::vector<CodeObject> build_all(std::span<const CompileRequest> requests, std::string_view compiler, Cache& cache) {
  std::vector<std::future<CodeObject>> others;
  const std::pair<int, int> of_caller = LogRank::current();
  for (const CompileRequest& request : requests.subspan(1)) {
    // Deferred where no thread can be started.
    others.push_back(std::async(std::launch::async | std::launch::deferred, [&request, compiler, &cache, of_caller] {
      const LogRank rank(of_caller);
      return build(request, compiler, cache);
    }));
  }
  std::vector<CodeObject> code = {build(requests.front(), compiler, cache)};
  for (std::future<CodeObject>& other : others) code.push_back(other.get());
  return code;
}

}  // namespace

CodeObject build(const CompileRequest& request, const Compiler& compiler, Cache& cache) {
  return cache.get(cache_key(request, compiler), request, [&] { return compiler.compile(request); });
}

std::vector<CompileRequest> make_requests(const irisgen::Plan& plan, const std::vector<irisgen::Source>& sources) {
  std::vector<CompileRequest> requests;
  requests.reserve(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    requests.push_back({.name = sources[i].name,
                        .source = sources[i].self_contained,
                        .symbol = plan.kernels.at(i).symbol,
                        .target = plan.target,
                        .line_tables = plan.target->platform == irisgen::Platform::host && plan.user.has_value()});
  }
  return requests;
}

namespace {

/// What was chosen, and why: by the model, or by which measurement.
std::string describe_choices(const irisgen::Plan& plan) {
  std::string words = "plan of " + plan.name + " for " + std::to_string(plan.problem.world) + " ranks on " +
                      std::string(plan.target->name);
  for (const irisgen::Choice& choice : plan.choices) {
    words += "; " + choice.name + " " + choice.value + (choice.reason.empty() ? "" : " (" + choice.reason + ")");
  }
  return words;
}

BuiltOperation plan_to_operation(const irisgen::Plan& plan, std::string_view compiler, Cache& cache,
                                 bool watch_stores) {
  log(LogLevel::info, [&] { return describe_choices(plan); });
  const std::vector<irisgen::Source> sources = irisgen::emit_sources(plan);
  BuiltOperation built;
  built.manifest = irisgen::make_manifest(plan, sources);
  std::vector<CompileRequest> requests = make_requests(plan, sources);
  for (CompileRequest& request : requests) request.watch_stores = watch_stores;
  built.code = build_all(requests, compiler, cache);
  return built;
}

}  // namespace

BuiltOperation build_operation(const irisgen::Plan& plan, std::string_view compiler, Cache& cache) {
  return plan_to_operation(plan, compiler, cache, false);
}

BuiltOperation build_watched_operation(const irisgen::Plan& plan, Cache& cache) {
  if (plan.target->platform != irisgen::Platform::host || !plan.user)
    throw std::invalid_argument("stores are watched on the CPU, in kernels of one's own");
  return plan_to_operation(plan, "clang", cache, true);
}

}  // namespace iris
