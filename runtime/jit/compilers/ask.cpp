#include "runtime/jit/compilers/ask.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "generator/language/resources.hpp"
#include "runtime/jit/compilers/clang.hpp"
#include "runtime/jit/compilers/table.hpp"

namespace iris {

nlohmann::json ask(nlohmann::json question) {
  const FoundCompiler& found = found_compiler("clang");
  if (const auto* missing = std::get_if<MissingCompiler>(&found)) throw std::runtime_error(sentence(*missing));
  const auto& clang = static_cast<const Clang&>(*std::get<std::shared_ptr<const Compiler>>(found));
  for (const std::string_view path : irisgen::resource_paths("iris/device/")) {
    question["headers"][std::string(path)] = irisgen::resource(path).value();
  }
  try {
    return clang.answer(question);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(question.at("name").get<std::string>() + ": error: " + error.what());
  }
}

}  // namespace iris
