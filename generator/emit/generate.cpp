#include "irisgen/generate.hpp"

#include <algorithm>

#include "irisgen/source.hpp"

namespace irisgen {

std::vector<OutputFile> generate(const Spec& spec, std::span<const Target* const> targets,
                                 const GenerateOptions& options) {
  const std::vector<Plan> plans = plan_all(spec, targets, options.plan);
  std::vector<OutputFile> files;
  for (auto first = plans.begin(); first != plans.end();) {
    const auto last = std::find_if(first, plans.end(), [&](const Plan& plan) { return plan.name != first->name; });
    std::vector<iris::Manifest> manifests;
    for (auto plan = first; plan != last; ++plan) {
      const std::vector<Source> sources = emit_sources(*plan);
      for (const Source& source : sources) {
        const std::string& text = options.self_contained ? source.self_contained : source.text;
        files.push_back({source.name, options.launcher.license_comment() + text});
      }
      manifests.push_back(make_manifest(*plan, sources));
      files.push_back({plan->stem + ".json", to_json(manifests.back())});
    }
    std::vector<LauncherBuild> builds;
    builds.reserve(manifests.size());
    for (std::size_t i = 0; i < manifests.size(); ++i)
      builds.push_back({&*(first + static_cast<std::ptrdiff_t>(i)), &manifests[i]});
    files.push_back({first->name + ".hpp", emit_launcher(builds, options.launcher)});
    first = last;
  }
  return files;
}

}  // namespace irisgen
