#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iris/manifest.hpp"
#include "irisgen/diagnostic.hpp"

namespace irisgen {

class SourceReader;

/// Problem::pattern of a kernel of the user's own.
inline constexpr std::string_view user_pattern = "user_kernel";

/// What a description says of one buffer, or number, of a user's kernel. What is absent the source says, or has a
/// default.
struct UserArgument {
  struct Dimension {
    std::string expression;  ///< `m + 2`
    Position where = {};
  };
  std::string name;
  std::optional<std::vector<Dimension>> shape = {};
  std::optional<iris::Access> access = {};
  std::optional<iris::ScalarValue> value = {};  ///< of a number: what it is where irisgen itself launches
  Position where = {};
  Position where_access = {};
  Position where_value = {};
};

/// What the results of a user's kernel must be: a function or files. Neither: nothing says so.
struct UserReference {
  struct File {
    std::string path;  ///< relative to the description; {rank} is each rank's number
    Position where = {};
  };
  std::string source = {};                              ///< relative to the description
  std::string function = {};                            ///< qualified name
  std::map<std::string, File, std::less<>> files = {};  ///< of the buffers that are written
  double relative = 0;  ///< |result - expected| <= absolute + relative · |expected|, beside the rounding of the latter
  double absolute = 0;
  Position where = {};

  bool none() const { return source.empty() && files.empty(); }
};

/// What a description says of a kernel of the user's own.
struct UserKernel {
  struct Number {
    int value = 0;
    Position where = {};
    std::vector<int> candidates = {};  ///< of a list, the first being `value`: what `irisgen tune` tries
    bool measured = false;             ///< by a tuning table, rather than set by the description
  };
  std::string source = {};  ///< relative to `folder`
  std::string entry = {};   ///< qualified name
  std::map<std::string, Number> constants = {};
  std::vector<UserArgument> arguments = {};  ///< those that the description names
  UserReference reference = {};
  std::string folder = {};                          ///< of the description
  std::shared_ptr<const SourceReader> reader = {};  ///< what reads the source; see iris/source_reader.hpp
  Position where_source = {};
  Position where_entry = {};
};

/// The path of a file that a description names, which lies in `folder`.
std::string path_from(const std::string& folder, const std::string& file);

}  // namespace irisgen
