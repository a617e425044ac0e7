#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "iris/manifest.hpp"
#include "irisgen/bare.hpp"
#include "irisgen/generate.hpp"
#include "irisgen/launcher.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/source.hpp"

/// Emitted files, committed and read as diffs. IRISGEN_UPDATE_GOLDENS=1 writes them anew.
namespace irisgen::golden_test {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(IRISGEN_SOURCE_DIR) / "tests/generator/goldens";

struct Golden {
  const char* kernel;  ///< of goldens.yaml
  const char* target;
  bool bare = false;  ///< its header for programs without the runtime, too
};

constexpr Golden goldens[] = {
    {"gradient_sum", "gfx942", true},
    {"gradient_sum", "host"},
    {"norm_sum", "sm_90a"},
    {"loss_max", "gfx942"},
    {"hidden_states", "sm_90a"},
    {"histogram", "gfx942"},
    {"losses", "sm_90a"},
    {"any_size", "gfx950"},
    {"weights", "sm_90a"},
    {"columns", "gfx942"},
    {"shards", "sm_90a"},
    {"gradients", "gfx950"},
    {"all_gradients", "sm_90a"},
    {"activations", "sm_90a"},
    {"norms", "gfx90a"},
    {"tokens", "gfx942"},
    {"routes", "gfx942"},
    {"seed", "sm_90a"},
    {"vocabulary", "sm_90a"},
    {"checkpoint", "sm_90a"},
    {"weights_of_root", "gfx942"},
    {"parameters", "host"},
    {"product", "sm_90a"},
    {"layer", "sm_90a"},
    {"layer", "gfx942"},
    {"layer_in_turn", "sm_90a"},
    {"layer_by_copies", "sm_90a", true},
    {"layer_together", "sm_90a"},
    {"projection", "gfx90a"},
    {"projection_in_parts", "sm_90a"},
    {"projection_by_copies", "sm_90a", true},
    {"attention_output", "gfx942"},
    {"total_by_copies", "gfx942"},
    {"partial_rows", "sm_90a"},
    {"linear", "sm_90a"},
    {"quantized", "sm_90a"},
    {"rounded", "sm_90a"},
    {"exact", "sm_90a"},
    {"decoded", "sm_90a"},
    {"odd_rows", "sm_90a"},
    {"partial_sums", "gfx950"},
    {"few_rows", "sm_90a"},
    {"tokens_sum", "host"},
    {"batch_sum", "sm_90a"},
    {"classifier", "sm_90a"},
    {"classifier_in_turn", "gfx942"},
};

Plan plan_of(const Spec& spec, const Golden& golden) {
  const KernelSpec& kernel = *spec.find(golden.kernel);
  return make_plan(kernel, kernel.worlds.at(0), *find_target(golden.target));
}

/// Each kernel's sources, the manifest of an operation of several kernels or steps, and some bare headers. Of the first
/// also the launcher, and the source with all of device/ that it uses.
std::vector<OutputFile> golden_files() {
  const Spec spec = read_spec((folder / "goldens.yaml").string());
  std::vector<OutputFile> files;
  for (const Golden& golden : goldens) {
    const bool is_first = &golden == &goldens[0];
    const Plan plan = plan_of(spec, golden);
    const std::vector<Source> sources = emit_sources(plan);
    for (const Source& source : sources) files.push_back({source.name, source.text});
    const iris::Manifest manifest = make_manifest(plan, sources);
    const bool is_composed = manifest.schedules.size() > 1 || manifest.schedules[0].steps.size() > 1;
    if (is_first || is_composed) files.push_back({plan.stem + ".json", to_json(manifest)});
    if (golden.bare) files.push_back({bare_header_name(plan), emit_bare(plan, sources)});
    if (!is_first) continue;
    files.push_back({plan.stem + ".self_contained.hip", sources[0].self_contained});
    const LauncherBuild build = {&plan, &manifest};
    files.push_back({plan.name + ".hpp", emit_launcher({&build, 1})});
  }
  return files;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The first line that differs, for a message that can be read.
std::string difference(std::string_view expected, std::string_view actual) {
  int line = 1;
  while (true) {
    const std::string_view a = expected.substr(0, expected.find('\n'));
    const std::string_view b = actual.substr(0, actual.find('\n'));
    const bool at_end = a.size() == expected.size() || b.size() == actual.size();
    if (a != b || at_end) {
      return "line " + std::to_string(line) + "\n  golden:  " + std::string(a) + "\n  emitted: " + std::string(b);
    }
    expected.remove_prefix(a.size() + 1);
    actual.remove_prefix(b.size() + 1);
    ++line;
  }
}

TEST(Goldens, AreWhatIsEmitted) {
  const bool update = std::getenv("IRISGEN_UPDATE_GOLDENS") != nullptr;
  std::set<std::string> names = {"goldens.yaml"};
  for (const OutputFile& file : golden_files()) {
    const fs::path path = folder / file.name;
    if (update) std::ofstream(path, std::ios::binary) << file.content;
    const std::string golden = read(path);
    EXPECT_TRUE(golden == file.content) << file.name << " differs in " << difference(golden, file.content)
                                        << "\nIRISGEN_UPDATE_GOLDENS=1 writes the goldens anew; review them as a diff";
    names.insert(file.name);
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (update && !names.contains(name)) fs::remove(entry.path());
    EXPECT_TRUE(update || names.contains(name)) << name << " is no golden of any kernel";
  }
}

TEST(Goldens, CoverEveryTemplate) {
  const Spec spec = read_spec((folder / "goldens.yaml").string());
  std::set<std::string> emitted;
  for (const Golden& golden : goldens) {
    for (const KernelPlan& kernel : plan_of(spec, golden).kernels) emitted.insert(kernel.template_path);
  }
  for (const Pattern* pattern : patterns()) {
    for (const Variant& variant : pattern->variants) {
      for (const std::string_view path : variant.templates) EXPECT_TRUE(emitted.contains(std::string(path))) << path;
    }
  }
}

}  // namespace
}  // namespace irisgen::golden_test
