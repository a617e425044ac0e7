#include "runtime/verify/compiled_reference.hpp"

#include <stdexcept>

#include "iris/compiler.hpp"
#include "irisgen/target.hpp"

namespace iris {

namespace {

CodeObject compile(const irisgen::ReferenceSource& source) {
  const irisgen::Target* host = irisgen::find_target("host");
  return find_compiler(*host, "clang")
      .compile({.name = source.name, .source = source.text, .symbol = source.symbol, .target = host});
}

}  // namespace

CompiledReference::CompiledReference(const irisgen::ReferenceSource& source)
    : library_(compile(source).bytes, source.name), symbol_(library_.find(source.symbol)) {
  if (symbol_ == nullptr) throw std::logic_error(source.name + " does not export " + source.symbol);
}

}  // namespace iris
