#pragma once

#include "irisgen/pattern.hpp"

/// The rows of the table in generator/pattern.cpp, each defined in the file of its name.
namespace irisgen {

extern const Pattern all_reduce;
extern const Pattern all_gather;
extern const Pattern reduce_scatter;
extern const Pattern all_to_all;
extern const Pattern broadcast;
extern const Pattern all_gather_matmul;
extern const Pattern matmul_reduce_scatter;

}  // namespace irisgen
