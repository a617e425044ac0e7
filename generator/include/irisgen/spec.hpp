#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "irisgen/diagnostic.hpp"

namespace irisgen {

struct Pattern;

enum class Dtype { f64, f32, f16, bf16, i32 };
enum class Op { sum, max, min, prod };

std::string_view to_string(Dtype dtype);
std::string_view to_string(Op op);
std::optional<Dtype> dtype_from(std::string_view name);
std::optional<Op> op_from(std::string_view name);
std::int64_t bytes_of(Dtype dtype);

/// One dimension of a shape: a number known now, or an argument of every launch.
struct Extent {
  std::int64_t value = 1;
  bool dynamic = false;
  Position where = {};
};

/// `config:` of a kernel. What is absent the Plan chooses.
struct ConfigSpec {
  std::optional<int> blocks;
  std::optional<int> threads;
  std::optional<int> vector;       ///< elements per access; a power of two, at most 16 bytes
  std::optional<int> comm_blocks;  ///< blocks of a fused kernel that move data rather than multiply
  std::optional<int> tile_m, tile_n, tile_k;
  std::optional<int> chunk;  ///< elements that a ring passes on at a time
  std::optional<int> timeout_ms;
  Position where = {};
};

/// What the user wrote, typed and valid: one entry of `kernels:`. Positions are kept for errors found later.
struct KernelSpec {
  std::string name;
  const Pattern* pattern = nullptr;
  Dtype dtype = Dtype::f32;
  Dtype accumulate = Dtype::f32;
  Op op = Op::sum;
  int root = 0;
  std::vector<int> worlds;
  Extent m, n, k;
  std::string variant = "auto";
  ConfigSpec config;

  Position where, dtype_where, world_where, variant_where, shape_where;
};

struct Spec {
  std::string file;
  std::string text;  ///< that it was read from; errors found later quote its lines
  std::vector<KernelSpec> kernels;

  /// nullptr if there is none of that name.
  const KernelSpec* find(std::string_view name) const;

  /// For errors found after parsing: names the file and quotes its lines.
  Report report() const { return {file, text}; }
};

/// Text (YAML or JSON) to Spec. Pure. `file` names the text in errors. Throws SpecError with every error of the text.
Spec parse_spec(std::string file, std::string text);

/// Reads the file and parses it. Throws SpecError; std::runtime_error if the file cannot be read.
Spec read_spec(const std::string& path);

/// The kernel as canonical JSON (sorted keys, defaults filled in, no positions): what the spec's hash is taken over.
std::string canonical_json(const KernelSpec& kernel, int world);

}  // namespace irisgen
