#pragma once

#include "generator/plan/planning.hpp"

namespace irisgen {

/// Keys of a part's config, by the whole's.
using SettingNames = std::vector<std::pair<std::string, std::string>>;

/// A problem to be solved as one part of an operation.
struct PartRequest {
  std::string name;                                          ///< of the part: its kernels' names begin with it
  Problem problem;                                           ///< its extents' values are filled in from `extents`
  std::vector<std::pair<std::string, Dimension>> extents;    ///< of the part, by those of the whole
  std::vector<std::pair<std::string, std::string>> buffers;  ///< its arguments, by the whole's
  SettingNames settings;
};

/// Makes an operation of parts that follow one another, each planned by the variant that suits it best.
class Composition {
 public:
  /// Takes the buffers of the whole from its pattern.
  explicit Composition(const Request& request);

  /// A buffer between two parts. It is on the heap if one of them asks for that.
  void add_intermediate(std::string name, Dtype dtype, std::vector<Dimension> shape);
  void add(const PartRequest& part);
  /// A part that is planned already.
  void add(const PartRequest& part, const Variant& variant, Draft draft);

  Draft take() { return std::move(draft_); }

 private:
  void add_kernel(KernelPlan kernel, const PartRequest& part);
  void require(const std::string& buffer, const Argument& argument);

  const Request& request_;
  Draft draft_;
};

/// What the config of the whole sets of a part.
Settings settings_of_part(const Settings& whole, const SettingNames& names);
/// Has a part's kernel say which keys of the whole set its constants.
void rename_settings(KernelPlan& kernel, const SettingNames& names);

/// Variant::cost of an operation of parts. The problem is static.
std::vector<Work> cost_of_parts(const Problem& problem, const Target& target, const Draft& draft);
/// What a launch of a variant's draft does: that of its parts, where it has some.
std::vector<Work> cost_of(const Variant& variant, const Problem& problem, const Target& target, const Draft& draft);

}  // namespace irisgen
