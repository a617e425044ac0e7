#pragma once

#include <nlohmann/json_fwd.hpp>

#include "generator/language/document.hpp"
#include "irisgen/user_function.hpp"

namespace irisgen {

/// The functions that an entry of `kernels:` names: `op`, where it is no word, `prologue` and `epilogue`.
UserFunctions read_user_functions(const Value& kernel, Report& report);

/// The same of canonical_json.
void add_user_functions(const UserFunctions& functions, nlohmann::json& kernel);

}  // namespace irisgen
