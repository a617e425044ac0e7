#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iris/problem.hpp"
#include "irisgen/diagnostic.hpp"
#include "irisgen/user_function.hpp"
#include "irisgen/user_kernel.hpp"

namespace irisgen {

using iris::Dtype;
using iris::Extents;
using iris::Op;
using iris::Problem;

/// A value of `config:`.
struct Setting {
  enum class By { description, measurement };  ///< of a tuning table

  int value = 0;
  Position where = {};
  By by = By::description;
};

/// `config:` of a kernel by key: what is absent the Plan chooses. The schema says which keys there are, what they mean
/// and their limits; a variant says which of them it understands.
using Settings = std::map<std::string, Setting, std::less<>>;

/// `tune:` of a kernel: values of `config:` to measure.
using SearchSpace = std::map<std::string, std::vector<Setting>, std::less<>>;

/// What the user wrote, typed and valid: one entry of `kernels:`, with one dtype and one shape. Places are kept for
/// errors found later.
struct KernelSpec {
  std::string name = {};          ///< with what lists of dtypes and shapes add to it
  std::string written_name = {};  ///< as it is in the description
  Problem problem = {};           ///< its `world` is one of `worlds`
  std::vector<int> worlds = {};
  std::string variant = "auto";
  Settings config = {};
  SearchSpace tune = {};
  std::optional<UserKernel> user = {};  ///< a kernel of the user's own: `source:` in the place of `pattern:`

  UserFunctions functions = {};  ///< of the user's own, within the pattern

  struct Places {
    Position kernel, name, world, shape, variant, config;
    std::map<std::string, Position, std::less<>> extents;
  };
  Places where = {};
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

/// What a command line may put in the place of what a description says. All rules hold for it.
struct Overrides {
  std::optional<int> world;
};

/// Text (YAML or JSON) to Spec. Pure. `file` names the text in errors. Throws SpecError with every error of the text.
Spec parse_spec(std::string file, std::string text, const Overrides& overrides = {});

/// The same, with errors in `report`, which must have been made for that file and text; the kernels that have none.
Spec parse_spec(std::string file, std::string text, const Overrides& overrides, Report& report);

/// The text of a file, as far as parse_spec would look at it; `-` is standard input. Throws std::runtime_error if it
/// cannot be read.
std::string read_text(const std::string& path);

/// The name of a file in errors: itself, or `<stdin>` for `-`.
std::string display_name(const std::string& path);

/// Reads the file and parses it. Throws SpecError; std::runtime_error if the file cannot be read.
Spec read_spec(const std::string& path, const Overrides& overrides = {});

/// The kernel as canonical JSON (sorted keys, defaults filled in, no places), an entry of `kernels:` for one world:
/// what the spec's hash is taken over. `tune:` is not in it, nor are values of numbers: they change nothing that is
/// made.
std::string canonical_json(const KernelSpec& kernel, int world);

/// A KernelSpec written in C++, with what it leaves out filled in, as a Spec of its own. Throws SpecError for what the
/// language does not allow. `problem.world` counts if `worlds` is empty.
Spec check(const KernelSpec& kernel);

/// The pattern of device_barrier() (iris/jit.hpp). Nothing is described with it: it has neither buffers nor extents.
inline constexpr std::string_view barrier_pattern = "barrier";

/// The pattern of the step that applies the prologue of a product to A. Nothing is described with it, either.
inline constexpr std::string_view map_pattern = "map";

/// The pattern of the steps that copy A and B to rows that begin at cache lines. Nothing is described with it.
inline constexpr std::string_view pad_pattern = "pad";

/// What the language lets a pattern have, as the schema says.
struct PatternKeys {
  std::vector<std::string> extents = {};   ///< those that a shape must or may have: m, n, k
  std::vector<std::string> shards = {};    ///< values of `shard`, the first being the default; empty: it takes none
  std::vector<std::string> variants = {};  ///< without auto
  bool takes_op = false;
  bool takes_accumulate = false;
  bool takes_root = false;
  bool takes_layout = false;  ///< of B
};
/// Every pattern of the language, in the schema's order.
std::vector<std::string> pattern_names();
/// What a kernel of the user's own may have: user_pattern, too, has keys, and barrier_pattern none. Throws
/// std::out_of_range for a name that is no pattern.
const PatternKeys& keys_of(std::string_view pattern);
/// The keys of `config:`, in the schema's order.
std::vector<std::string> config_keys();

}  // namespace irisgen
