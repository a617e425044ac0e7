#include "iris/import.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "irisgen/generate.hpp"
#include "tests/runtime/reviewed_file.hpp"
#include "tests/runtime/user_kernel_samples.hpp"

/// From a kernel that exists to a first description, and a list of what must change.
namespace iris::test::import_test {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(IRISGEN_SOURCE_DIR) / "tests/runtime/import";

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

using Severity = irisgen::SourceDiagnostic::Severity;

ImportedKernel imported(const std::string& source, const ImportOptions& options = {.source = "k.hip"}) {
  return import_kernel("k.hip", source, options);
}

/// The rules by the lines that they are found at, notes included.
std::multimap<int, std::string> rules_of(const ImportedKernel& kernel) {
  std::multimap<int, std::string> rules;
  for (const irisgen::SourceDiagnostic& finding : kernel.findings) rules.emplace(finding.where.line, finding.rule);
  return rules;
}

bool has(const ImportedKernel& kernel, int line, const std::string& rule, const std::string& words = "") {
  return std::ranges::any_of(kernel.findings, [&](const irisgen::SourceDiagnostic& finding) {
    const bool is_there = finding.where.line == line ||
                          std::ranges::any_of(finding.notes, [&](const auto& note) { return note.where.line == line; });
    return is_there && finding.rule == rule && finding.message.find(words) != std::string::npos;
  });
}

class Import : public UserKernel {};

// Descriptions and lists of kernels in the manner of what people have, read as diffs.
TEST_F(Import, makes_descriptions_and_lists_that_are_reviewed) {
  int kernels = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".golden") continue;
    ++kernels;
    SCOPED_TRACE(entry.path().filename());
    const std::string name = entry.path().filename().string();
    const ImportedKernel kernel = import_kernel(name, text_of(entry.path()), {.source = name});
    std::string text = kernel.description;
    for (const irisgen::SourceDiagnostic& finding : kernel.findings) text += irisgen::render(finding, false);
    expect_reviewed(entry.path().string() + ".golden", text);
  }
  EXPECT_GE(kernels, 10);
}

// The list alone is said by hand here, lest a golden file be taken as it comes.
TEST_F(Import, lists_all_of_a_hand_written_all_reduce) {
  const ImportedKernel kernel = import_kernel("k.cu", text_of(folder / "peer_all_reduce.cu"), {.source = "k.cu"});
  EXPECT_FALSE(kernel.complete);
  EXPECT_TRUE(has(kernel, 2, "import-include", "cstdio"));
  EXPECT_TRUE(has(kernel, 3, "import-include"));
  EXPECT_TRUE(has(kernel, 5, "import-entry",
                  "void all_reduce(const Context& context, IRIS_SYMMETRIC const f32* peers, f32* out, i64 n)"));
  EXPECT_TRUE(has(kernel, 5, "import-peers", "load(context, peers + i, peer)"));
  EXPECT_TRUE(has(kernel, 5, "import-flag", "'flags'"));
  EXPECT_TRUE(has(kernel, 5, "import-flag", "'epoch'"));
  EXPECT_TRUE(has(kernel, 5, "import-rank", "context.rank"));
  EXPECT_TRUE(has(kernel, 5, "import-rank", "Config::world"));
  EXPECT_TRUE(has(kernel, 5, "import-extent", "i64 n"));
  EXPECT_TRUE(has(kernel, 6, "import-index", "thread_index()"));
  EXPECT_TRUE(has(kernel, 7, "import-fence"));
  EXPECT_TRUE(has(kernel, 10, "import-wait", "block_wait_acquire"));
  EXPECT_TRUE(has(kernel, 14, "import-sync", "sync_block()"));
  EXPECT_TRUE(has(kernel, 15, "import-index", "Config::threads"));
  EXPECT_TRUE(has(kernel, 22, "import-host", "'main'"));
  EXPECT_EQ(rules_of(kernel).size(), 16u);
}

// What was listed has been done.
TEST_F(Import, describes_what_a_changed_source_is) {
  write("peer_all_reduce.cu", R"(#include <iris/device/launch.hpp>
#include <iris/device/rma.hpp>
#include <iris/device/signal.hpp>
using namespace iris::device;

template <typename Config>
__device__ void all_reduce(const Context& context, IRIS_SYMMETRIC const f32* peers, f32* out, i64 n) {
  Launch<Config> launch(context);
  const i64 first = flags<Config::world * Config::blocks>(launch);
  if (thread_index() < Config::world)
    signal_release(launch, first + context.rank * Config::blocks + block_index(), 0, thread_index());
  for (i32 peer = 0; peer < Config::world; ++peer) {
    if (!block_wait_acquire(launch, first + peer * Config::blocks + block_index(), 0, peer, Wait::arrival)) return;
  }
  for (i64 i = block_index() * Config::threads + thread_index(); i < n; i += Config::blocks * Config::threads) {
    f32 sum = 0;
    for (i32 peer = 0; peer < Config::world; ++peer) sum += load(context, peers + i, peer);
    out[i] = sum;
  }
}
)");
  const ImportedKernel kernel = import_kernel("peer_all_reduce.cu", text_of(folder / "peer_all_reduce.cu"),
                                              {.source = "peer_all_reduce.cu", .world = 4});
  const irisgen::Plan planned = plan(kernel.description);
  EXPECT_EQ(planned.problem.world, 4);
  EXPECT_EQ(planned.kernels[0].number("blocks"), 32);
  EXPECT_EQ(planned.kernels[0].number("threads"), 256);
  ASSERT_EQ(planned.arguments.size(), 2u);
  EXPECT_TRUE(planned.arguments[0].symmetric);
  EXPECT_EQ(planned.arguments[1].access, Access::write);
}

/// What launching needs to know of an operation, less what bears its name.
nlohmann::json launched(const Manifest& manifest) {
  nlohmann::json fields = nlohmann::json::parse(to_json(manifest));
  nlohmann::json kept;
  for (const char* key : {"problem", "arguments", "intermediates", "in_place"}) kept[key] = fields.at(key);
  for (const auto& kernel : fields.at("kernels")) {
    for (const char* key : {"blocks", "threads", "waits", "waits_for_ranks", "flags", "workspace"})
      kept["kernels"].push_back(kernel.at(key));
  }
  return kept;
}

class ImportOfExample : public UserKernel, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Import, ImportOfExample,
                         testing::Values("03_load_store", "04_message_passing", "05_histogram", "06_halo"),
                         [](const auto& info) { return std::string(info.param); });

// A description's manifest is that of the description which is imported from what it emits, but for shapes of buffers
// that are not all extents: no source says them.
TEST_P(ImportOfExample, gives_back_its_manifest) {
  irisgen::Spec read =
      irisgen::read_spec(std::string(IRISGEN_SOURCE_DIR) + "/examples/" + GetParam() + "/spec.yaml", {.world = 4});
  attach_source_reader(read);
  for (const char* target : {"host", "gfx942", "sm_90a"}) {
    SCOPED_TRACE(target);
    const irisgen::Plan planned = irisgen::make_plan(read.kernels.at(0), 4, *irisgen::find_target(target));
    const std::vector<irisgen::Source> sources = irisgen::emit_sources(planned);
    write("emitted.hip", sources.at(0).text);
    const ImportedKernel kernel = import_kernel("emitted.hip", sources.at(0).text, {.source = "emitted.hip"});
    ASSERT_TRUE(kernel.findings.empty()) << kernel.findings.front().message;
    EXPECT_TRUE(kernel.complete);
    const irisgen::Plan again = plan(kernel.description, target);
    nlohmann::json before = launched(irisgen::make_manifest(planned, sources));
    const nlohmann::json after = launched(irisgen::make_manifest(again, irisgen::emit_sources(again)));
    if (std::string(GetParam()) == "05_histogram") {
      EXPECT_NE(before["arguments"][1]["shape"], after["arguments"][1]["shape"]);  // [bins / world]
      before["arguments"][1]["shape"] = after["arguments"][1]["shape"];
    }
    EXPECT_EQ(before, after);

    const ImportedKernel alone = import_kernel("emitted.hip", sources.at(0).self_contained, {.source = "emitted.hip"});
    const bool is_readable = std::string(target) == "host";  // the vocabulary of a GPU is not for the CPU
    EXPECT_EQ(alone.description, is_readable ? kernel.description : "");
    ASSERT_EQ(alone.findings.size(), 1u);
    EXPECT_EQ(alone.findings[0].rule, is_readable ? "import-vocabulary" : "");
    EXPECT_NE(alone.findings[0].message.find("this file brings the vocabulary along"), std::string::npos);
  }
}

// Of irisgen's own templates the source does not say how large their workspace is.
TEST_F(Import, says_what_an_emitted_collective_leaves_open) {
  const irisgen::Spec read =
      irisgen::parse_spec("k.yaml",
                          "irisgen: 1\nkernels:\n  - {name: k, pattern: all_reduce, dtype: f32, op: sum, world: 4, "
                          "shape: {n: 1000}, variant: two_shot}\n");
  const irisgen::Plan planned = irisgen::make_plan(read.kernels.at(0), 4, *irisgen::find_target("host"));
  const ImportedKernel kernel = imported(irisgen::emit_sources(planned).at(0).text);
  ASSERT_FALSE(kernel.description.empty());
  EXPECT_NE(kernel.description.find("world: 4\n"), std::string::npos) << kernel.description;
}

TEST_F(Import, asks_which_of_several_kernels_is_meant) {
  const std::string source = text_of(folder / "two_kernels.cu");
  const ImportedKernel both = imported(source);
  ASSERT_EQ(both.findings.size(), 1u);
  EXPECT_EQ(both.findings[0].severity, Severity::error);
  EXPECT_EQ(both.findings[0].message, "there are several kernels here; name one by --entry: first, second");
  EXPECT_EQ(both.findings[0].where.line, 2);
  EXPECT_TRUE(both.description.empty());
  EXPECT_EQ(imported(source, {.entry = "second", .source = "k.cu"}).entry, "second");
  EXPECT_NE(imported(source, {.entry = "third"}).findings.at(0).message.find("there is no kernel 'third' here"),
            std::string::npos);
}

TEST_F(Import, refuses_what_is_no_kernel_with_a_place) {
  for (const std::string& source : {std::string(), std::string("int main() {}\n"), std::string("}}}} {{{ @ \\\n"),
                                    std::string("\x00\x01\xff\xfe", 4), std::string(2 << 20, 'x'),
                                    std::string("#include \"k.hip\"\n"), std::string(100000, '(')}) {
    const ImportedKernel kernel = imported(source);
    EXPECT_TRUE(kernel.description.empty());
    ASSERT_FALSE(kernel.findings.empty());
    EXPECT_EQ(kernel.findings[0].severity, Severity::error) << kernel.findings[0].message;
    EXPECT_GT(kernel.findings[0].where.line, 0);
  }
}

TEST_F(Import, gets_over_recursion_and_deep_templates) {
  const ImportedKernel kernel = imported(
      "__device__ int down(int n) { return n == 0 ? 0 : down(n - 1); }\n"
      "template <int N> struct Deep { static constexpr int value = Deep<N - 1>::value + 1; };\n"
      "template <> struct Deep<0> { static constexpr int value = 0; };\n"
      "__global__ void f(float* out, int n) { out[down(n)] = Deep<5000>::value; }\n"
      "struct Self { Self* next; };\n__device__ void g(Self* self) { while (self) self = self->next; }\n");
  EXPECT_EQ(kernel.entry, "f");
  EXPECT_TRUE(has(kernel, 4, "import-entry"));
}

TEST_F(Import, tells_what_the_body_does_with_a_buffer) {
  const std::string description =
      imported(
          "__device__ void put(float* to, float v) { *to = v; }\n"
          "__global__ void f(float* sum, float* plain, float* through, float* only, float* both, int n) {\n"
          "  sum[n] += only[n];\n  plain[n] = 1;\n  put(through + n, 2);\n  both[n] = both[n + 1];\n}\n")
          .description;
  for (const char* line : {"#   sum: updated, f32", "#   plain: written, f32", "#   through: written, f32",
                           "#   only: read, f32", "#   both: updated, f32", "      sum: {access: update}"})
    EXPECT_NE(description.find(line), std::string::npos) << line << "\n" << description;
}

// A kernel in the vocabulary may read what it, or another rank, has written: only one statement tells.
TEST_F(Import, tells_what_a_statement_of_the_vocabulary_updates) {
  const std::string description =
      imported(
          "#include <iris/device/launch.hpp>\nusing namespace iris::device;\n"
          "template <typename Config>\n"
          "__device__ void f(const Context&, const f32* x, f32* sum, f32* scaled, f32* out, i64 n) {\n"
          "  for (i64 i = thread_index(); i < n; i += Config::threads) {\n"
          "    sum[i] = sum[i] + x[i];\n    f32* const to = scaled + i;\n    *to = 2 * *to;\n"
          "    out[i] = x[i];\n    out[0] = out[i] > 0 ? 1 : 2;\n  }\n}\n")
          .description;
  for (const char* line : {"#   x: read, f32", "#   sum: updated, f32", "#   scaled: updated, f32"})
    EXPECT_NE(description.find(line), std::string::npos) << line << "\n" << description;
}

// A thousand lines of host code that nobody can read without its headers.
TEST_F(Import, is_not_kept_from_a_kernel_by_host_code) {
  std::string source = "#include <torch/all.h>\n";
  for (int i = 0; i < 1000; ++i)
    source += "torch::Tensor f" + std::to_string(i) + "(at::Tensor& x) { TORCH_CHECK(x.dim() == 2); return x; }\n";
  source += "__global__ void scale(float* out, const float* in, int n) { out[threadIdx.x] = in[n]; }\n";
  const ImportedKernel kernel = imported(source);
  EXPECT_EQ(kernel.entry, "scale");
  EXPECT_TRUE(has(kernel, 1, "import-include", "torch/all.h"));
  EXPECT_EQ(rules_of(kernel).count(5), 0u);
}

}  // namespace
}  // namespace iris::test::import_test
