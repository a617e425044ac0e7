#pragma once

#include <string>
#include <string_view>

#include "irisgen/plan.hpp"

namespace irisgen {

/// Lines of a bare launcher's launch() that return an error for extents which irisgen's runtime would refuse in words,
/// since kernels would write where nothing is. `api` is what the runtime's names begin with: `hip`, `cuda`.
std::string extent_checks(const Plan& plan, std::string_view api);

}  // namespace irisgen
