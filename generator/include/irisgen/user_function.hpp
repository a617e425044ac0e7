#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iris/dtype.hpp"
#include "irisgen/diagnostic.hpp"

namespace irisgen {

class SourceReader;

/// What the buffer of an epilogue has one element for.
enum class Per { column, row, element, output };
std::string_view to_string(Per per);

/// What a description says of a function of the user's own within a pattern.
struct UserFunction {
  struct Argument {
    std::string name = {};
    std::optional<Per> per = {};
    std::optional<iris::Dtype> dtype = {};
    Position where = {};
  };
  std::string source = {};               ///< relative to the description
  std::string function = {};             ///< qualified name
  double identity = 0;                   ///< of an operation
  std::vector<Argument> arguments = {};  ///< of an epilogue: those that the description names
  std::optional<double> relative = {};   ///< |value - exact| <= absolute + relative · |exact| in the kernel's type
  std::optional<double> absolute = {};
  Position where_source = {};
  Position where_function = {};
  Position where_identity = {};  ///< or of the function, where the description leaves it out
};

/// The functions that a description gives a pattern.
struct UserFunctions {
  std::optional<UserFunction> operation = {};
  std::optional<UserFunction> prologue = {};
  std::optional<UserFunction> epilogue = {};
  std::string folder = {};                          ///< of the description
  std::shared_ptr<const SourceReader> reader = {};  ///< what reads the sources; see iris/source_reader.hpp

  bool none() const { return !operation && !prologue && !epilogue; }
};

}  // namespace irisgen
