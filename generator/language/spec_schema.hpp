#pragma once

#include "generator/language/schema.hpp"

namespace irisgen {

/// schemas/spec.json, compiled once.
const Schema& spec_schema();

}  // namespace irisgen
