#include "irisgen/generate.hpp"

#include <algorithm>

#include "irisgen/bare.hpp"
#include "irisgen/source.hpp"

namespace irisgen {
namespace {

void add_sources(const std::vector<Source>& sources, bool self_contained, const LauncherOptions& options,
                 std::vector<OutputFile>& files) {
  for (const Source& source : sources) {
    const std::string& text = self_contained ? source.self_contained : source.text;
    files.push_back({source.name, options.license_comment() + text});
  }
}

std::vector<OutputFile> generate_bare(const std::vector<Plan>& plans, const LauncherOptions& options) {
  std::vector<OutputFile> files;
  for (const Plan& plan : plans) {
    const std::vector<Source> sources = emit_sources(plan);
    add_sources(sources, true, options, files);
    files.push_back({bare_header_name(plan), emit_bare(plan, sources, options)});
  }
  return files;
}

}  // namespace

std::vector<OutputFile> generate(const Spec& spec, std::span<const Target* const> targets,
                                 const GenerateOptions& options) {
  const std::vector<Plan> plans = plan_all(spec, targets, options.plan);
  if (options.bare) return generate_bare(plans, options.launcher);
  std::vector<OutputFile> files;
  for (auto first = plans.begin(); first != plans.end();) {
    const auto last = std::find_if(first, plans.end(), [&](const Plan& plan) { return plan.name != first->name; });
    std::vector<iris::Manifest> manifests;
    for (auto plan = first; plan != last; ++plan) {
      const std::vector<Source> sources = emit_sources(*plan);
      add_sources(sources, options.self_contained, options.launcher, files);
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
