#pragma once

#include <string>
#include <vector>

#include "iris/compiler.hpp"
#include "iris/device.hpp"
#include "irisgen/target.hpp"

namespace irisgen::cli {

/// What this machine can do: asked once, for `list` and `doctor`. Opens the GPU libraries and Clang.
struct Machine {
  const iris::Compilers* compilers;
  iris::DeviceSurvey gpus;
  std::string host_missing;  ///< why kernels cannot run on the CPU; empty if they can
};

Machine survey_machine();

/// Names of the compilers that can make code for the target, the preferred one first.
std::vector<std::string> compilers_of(const Machine& machine, const Target& target);

/// How many GPUs of this machine run the target's code; 1 for a host that can run kernels.
int devices_of(const Machine& machine, const Target& target);

}  // namespace irisgen::cli
