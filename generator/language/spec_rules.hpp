#pragma once

#include "generator/language/document.hpp"
#include "irisgen/diagnostic.hpp"
#include "irisgen/spec.hpp"

namespace irisgen {

/// Most elements that one buffer of a kernel may have on all ranks together; 8 bytes each, that stays far below 2^63.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 40;

/// A document that the schema has passed over (what is wrong in it is Invalid) to kernels, reporting what breaks a rule
/// that no schema can state: uniqueness of names, types that go together, limits over several keys. An entry makes a
/// kernel for each of its dtypes and shapes, or none if there is an error in it.
std::vector<KernelSpec> apply_rules(const Value& root, Report& report);

}  // namespace irisgen
