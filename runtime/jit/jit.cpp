#include "iris/jit.hpp"

#include <cstdlib>

#include "generator/manifest/hash.hpp"
#include "iris/manifest.hpp"
#include "irisgen/source.hpp"
#include "runtime/system/build_id.hpp"
#include "runtime/system/dynamic_library.hpp"

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
  add(request.source);
  return irisgen::sha256_hex(text);
}

}  // namespace

CodeObject build(const CompileRequest& request, const Compiler& compiler, Cache& cache) {
  return cache.get(cache_key(request, compiler), request, [&] { return compiler.compile(request); });
}

CompileRequest make_request(const irisgen::Plan& plan) {
  return {.name = plan.stem + ".hip",
          .source = irisgen::emit_kernel(plan, {.self_contained = true}),
          .symbol = plan.symbol,
          .target = plan.target};
}

BuiltKernel build_kernel(const irisgen::Plan& plan, std::string_view compiler, Cache& cache) {
  BuiltKernel built = {irisgen::make_manifest(plan), {}};
  const CompileRequest request = make_request(plan);
  const std::string short_key = make_short_key(request, compiler);
  if (auto code = cache.recall(short_key)) {
    built.code = *std::move(code);
    return built;
  }
  const Compiler& chosen = find_compiler(*plan.target, compiler);
  built.code = build(request, chosen, cache);
  cache.remember(short_key, cache_key(request, chosen), chosen.files());
  return built;
}

}  // namespace iris
