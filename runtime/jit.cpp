#include "runtime/jit.hpp"

#include "generator/manifest.hpp"
#include "generator/source.hpp"

namespace iris {

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
  const Compiler& chosen = Compilers::instance().find(*plan.target, compiler);
  return {irisgen::make_manifest(plan), build(make_request(plan), chosen, cache)};
}

}  // namespace iris
