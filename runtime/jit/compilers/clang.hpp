#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "iris/compiler.hpp"
#include "runtime/jit/clang/interface.hpp"
#include "runtime/system/dynamic_library.hpp"

namespace iris {

/// Clang in its own library, which compiles sources and answers questions about them.
class Clang : public Compiler {
 public:
  /// Throws std::runtime_error if the library is another version's.
  explicit Clang(DynamicLibrary library);

  std::string_view name() const override { return "clang"; }
  std::string version() const override { return interface_->compiler_version; }
  std::vector<std::string> files() const override;
  std::vector<std::string> targets() const override;
  std::string options(const irisgen::Target& target) const override;
  CodeObject compile(const CompileRequest& request) const override;

  /// Throws std::runtime_error where the library fails, never for what is wrong with a source.
  nlohmann::json answer(const nlohmann::json& question) const;

 private:
  DynamicLibrary library_;
  const clang_library::Interface* interface_ = nullptr;
};

}  // namespace iris
