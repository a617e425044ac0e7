#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "irisgen/spec.hpp"
#include "irisgen/target.hpp"

/// What the subcommands that launch kernels share.
namespace irisgen::cli {

/// The target of that name, or that of this machine's GPUs. Throws UsageError for the CPU, whose times say nothing, and
/// a sentence if there is no GPU.
const Target& measured_target(const std::string& name);

/// What the first GPU of that target calls itself, as tuning tables have it; empty if there is none.
std::string device_of(const Target& target);

/// Throws SpecError for each number that a kernel of the user's own takes by value and the description gives none for.
void require_values(const Spec& spec, const Target& target);

/// `--sizes`. Throws UsageError.
std::vector<std::int64_t> sizes_of(const std::string& text);

/// "1 MiB", or "4096x1024x1024" of what has no size in bytes.
std::string shown_size(std::int64_t bytes, const Extents& extents);
/// By name.
nlohmann::ordered_json extents_json(const Extents& extents);

/// Four digits.
std::string number(double value);

}  // namespace irisgen::cli
