#include "irisgen/generate.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "iris/manifest.hpp"
#include "irisgen/launcher.hpp"

namespace irisgen {
namespace {

/// Collects errors of several plans, each once: one cause is often met for every target.
void add_once(std::vector<Diagnostic>& diagnostics, const Diagnostic& diagnostic) {
  const auto same = [&](const Diagnostic& other) {
    return other.where == diagnostic.where && other.message == diagnostic.message;
  };
  if (std::ranges::none_of(diagnostics, same)) diagnostics.push_back(diagnostic);
}

/// Two names that differ in underscores and capitals only would meet in one class.
std::vector<Diagnostic> class_conflicts(const Spec& spec) {
  std::vector<Diagnostic> conflicts;
  std::map<std::string, std::string> owners;
  for (const KernelSpec& kernel : spec.kernels) {
    const std::string name = class_name(kernel.name);
    const auto [owner, is_new] = owners.emplace(name, kernel.name);
    if (is_new) continue;
    conflicts.push_back({kernel.where, "kernels '" + owner->second + "' and '" + kernel.name +
                                           "' would share the launcher's class " + name + "; rename one"});
  }
  return conflicts;
}

}  // namespace

std::vector<Plan> plan_all(const Spec& spec, std::span<const Target* const> targets) {
  std::vector<Plan> plans;
  std::vector<Diagnostic> diagnostics = class_conflicts(spec);
  for (const KernelSpec& kernel : spec.kernels) {
    for (const int world : kernel.worlds) {
      for (const Target* target : targets) {
        try {
          plans.push_back(make_plan(kernel, world, *target));
        } catch (const SpecError& error) {
          for (const Diagnostic& diagnostic : error.report().diagnostics()) add_once(diagnostics, diagnostic);
        }
      }
    }
  }
  Report report = spec.report();
  for (Diagnostic& diagnostic : diagnostics) report.error(diagnostic.where, std::move(diagnostic.message));
  report.throw_if_any();
  return plans;
}

std::vector<OutputFile> generate(const Spec& spec, std::span<const Target* const> targets,
                                 const SourceOptions& options) {
  const std::vector<Plan> plans = plan_all(spec, targets);
  std::vector<OutputFile> files;
  for (auto first = plans.begin(); first != plans.end();) {
    const auto last =
        std::find_if(first, plans.end(), [&](const Plan& p) { return p.kernel.name != first->kernel.name; });
    for (auto plan = first; plan != last; ++plan) {
      files.push_back({plan->stem + ".hip", emit_kernel(*plan, options)});
      files.push_back({plan->stem + ".json", to_json(make_manifest(*plan))});
    }
    files.push_back({first->kernel.name + ".hpp", emit_launcher({first, last})});
    first = last;
  }
  return files;
}

}  // namespace irisgen
