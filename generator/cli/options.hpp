#pragma once

#include <string>
#include <vector>

#include "generator/spec.hpp"
#include "generator/target.hpp"

namespace irisgen::cli {

/// The target of that name. Throws UsageError with the nearest one.
const Target& target_named(const std::string& name);

/// Each name's target, without repetition; every target if there are no names.
std::vector<const Target*> targets_named(const std::vector<std::string>& names);

/// read_spec, except that a file that cannot be read is a UsageError: the command line named it.
Spec load_spec(const std::string& path);

/// The kernel of that name, or the spec's only one if the name is empty. Throws UsageError with the names there are.
const KernelSpec& kernel_named(const Spec& spec, const std::string& name);

/// The kernels of that name, or all of them if the name is empty.
std::vector<const KernelSpec*> kernels_named(const Spec& spec, const std::string& name);

/// The world to use: `wanted`, which must be one of the kernel's; 0 means the kernel's largest. Throws UsageError.
int world_of(const KernelSpec& kernel, int wanted);

}  // namespace irisgen::cli
