#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "irisgen/plan.hpp"

namespace irisgen {

/// What is needed to launch a kernel: the JSON beside every emitted source, described by schemas/manifest.json.
/// Launching from a manifest is the only way to launch.
struct Manifest {
  int abi = 0;  ///< iris::device::abi_version
  std::string name;
  std::string symbol;
  std::string target;
  std::string spec_hash;    ///< SHA-256 of canonical_json, hexadecimal
  std::string source_hash;  ///< SHA-256 of the self-contained source
  std::string pattern;
  std::string variant;
  Dtype dtype = Dtype::f32;
  Dtype accumulate = Dtype::f32;
  Op op = Op::sum;
  int root = 0;
  int world = 1;
  int blocks = 1;
  int threads = 1;
  int timeout_ms = 0;
  bool in_place = true;
  std::int64_t flags = 0;
  WorkspaceSize workspace;
  std::vector<Argument> arguments;  ///< the buffers, in the entry's order, after the Context
  Extent m, n, k;                   ///< dynamic ones follow the buffers as i64, in the order m, n, k
};

Manifest make_manifest(const Plan& plan);

/// Pretty-printed JSON with a final newline; the same bytes every time.
std::string to_json(const Manifest& manifest);

/// Throws std::runtime_error with a sentence if the text is no manifest of this version.
Manifest parse_manifest(std::string_view json);

}  // namespace irisgen
