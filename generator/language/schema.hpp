#pragma once

#include <memory>
#include <string_view>

#include "generator/language/document.hpp"
#include "irisgen/diagnostic.hpp"

namespace irisgen {

struct SchemaNodes;

/// A JSON Schema (draft-07), applied to a Document. Understands the keywords that schemas/spec.json uses, and refuses
/// any other, so that a rule of the schema is never passed over in silence. Restrictions beyond draft-07: branches of
/// anyOf differ in type, `if` asks for one key with one constant, a string with a pattern has a maxLength, and 8.0 is
/// no integer. `requiredWithDefaults` is ours: keys that an object must have, save below the document's `defaults`.
class Schema {
 public:
  /// Throws std::logic_error if the text is no schema of that kind.
  explicit Schema(std::string_view json);
  Schema(Schema&&) noexcept;
  ~Schema();

  /// Reports every place where the document breaks a rule. What is wrong becomes Invalid, members of unknown keys
  /// included, so that later rules do not report it again.
  void validate(Value& root, Report& report) const;

  /// The compiled document, for those who ask what it says.
  const SchemaNodes& nodes() const { return *nodes_; }

 private:
  std::unique_ptr<const SchemaNodes> nodes_;
};

}  // namespace irisgen
