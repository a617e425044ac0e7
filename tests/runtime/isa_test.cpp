// The instructions that matter in AMD code objects of every pattern and variant, by each compiler: accesses of 16
// bytes, flags that other GPUs see, and no access whose address space the compiler had to leave open or spill to.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "iris/jit.hpp"
#include "samples.hpp"
#include "tests/runtime/compiler_samples.hpp"

namespace iris {
namespace {

namespace fs = std::filesystem;
using test::Algorithm;

/// Instructions in the order of the code, each with its operands: `global_store_dword v[6:7], v8, off sc0 sc1`.
using Instructions = std::vector<std::string>;

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 65536> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe.get())) text.append(part.data(), count);
  return text;
}

Instructions disassemble(const CodeObject& code) {
  std::string pattern = (fs::temp_directory_path() / "irisgen-isa-XXXXXX").string();
  const fs::path folder = mkdtemp(pattern.data());
  const fs::path file = folder / "kernel.hsaco";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(code.bytes.data()), static_cast<std::streamsize>(code.bytes.size()));
  const std::string text =
      output_of(IRISGEN_OBJDUMP " -d --no-show-raw-insn --mcpu=" + code.target + " '" + file.string() + "' 2>&1");
  fs::remove_all(folder);

  Instructions instructions;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('\t')) continue;
    line = line.substr(1, line.find("//") - 1);
    instructions.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return instructions;
}

/// Whether it begins so: no other place is looked at, as a search would even where the expression says `^`.
bool begins(const std::string& instruction, const std::regex& with) {
  return std::regex_search(instruction, with, std::regex_constants::match_continuous);
}

std::size_t count(const Instructions& instructions, const std::string& expression) {
  const std::regex wanted(expression);
  return static_cast<std::size_t>(
      std::ranges::count_if(instructions, [&](const std::string& instruction) { return begins(instruction, wanted); }));
}

/// How a target spells what system scope takes (AMDGPU backend guide, memory models of gfx90a and gfx942).
struct Spelling {
  std::string write_back;  ///< before a release: the L2 cache's dirty lines go to memory
  std::string store;       ///< of a flag, seen by other GPUs
  std::string load;        ///< of a flag, past the caches
  std::string invalidate;  ///< after an acquire
};

Spelling spelling_of(const std::string& target) {
  // On gfx90a a plain store writes through to where the write-back puts the data, so it carries no flag of its own.
  if (target == "gfx90a") {
    return {"^buffer_wbl2$", "^global_store_dword(x2)? ", "^global_load_dwordx2 .* glc$", "^buffer_invl2$"};
  }
  return {"^buffer_wbl2 sc0 sc1$", "^global_store_dword(x2)? .* sc0 sc1$", "^global_load_dwordx2 .* sc0 sc1$",
          "^buffer_inv sc0 sc1$"};
}

/// Stores that come after a write-back of the whole L2 cache and a wait for it, with nothing else written in between.
std::size_t count_releases(const Instructions& instructions, const Spelling& spelling) {
  const std::regex write_back(spelling.write_back);
  const std::regex store(spelling.store);
  const std::regex access("^(global|flat|scratch|buffer)_(?!load)");  // what is only read need not be published
  const std::regex wait("^s_waitcnt .*vmcnt\\(0\\)");
  enum { nothing, written_back, waited } state = nothing;
  std::size_t releases = 0;
  for (const std::string& instruction : instructions) {
    if (begins(instruction, write_back)) {
      state = written_back;
    } else if (state == written_back && begins(instruction, wait)) {
      state = waited;
    } else if (begins(instruction, access)) {
      if (state == waited && begins(instruction, store)) ++releases;
      state = nothing;
    }
  }
  return releases;
}

struct Case {
  Algorithm algorithm;
  const char* compiler;
  std::size_t number;  ///< another for each case

  std::string name() const { return algorithm.name() + "_" + compiler; }
  friend std::ostream& operator<<(std::ostream& out, const Case& that) { return out << that.name(); }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Algorithm& algorithm : test::every_algorithm()) {
    for (const char* compiler : {"clang", "hiprtc"}) all.push_back({algorithm, compiler, all.size()});
  }
  return all;
}

class Isa : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (std::string(IRISGEN_OBJDUMP).empty()) {
      GTEST_SKIP() << "llvm-objdump-22 was not on this machine when irisgen was configured; install llvm-22";
    }
    compiler_ = samples::find_compiler(GetParam().compiler);
    if (compiler_ == nullptr) GTEST_SKIP() << samples::why_missing(GetParam().compiler);
  }

  std::vector<std::string> targets() const {
    std::vector<std::string> amd = compiler_->targets();
    std::erase(amd, "host");
    return amd;
  }

  /// Sizes that every vector divides.
  irisgen::Plan plan(const std::string& target, const std::string& dtype, const std::string& layout) const {
    const Algorithm& algorithm = GetParam().algorithm;
    const Extents even = test::is_matmul(algorithm) ? test::matmul_extents(algorithm, 3, 128, 128, 64)
                                                    : test::collective_extents(algorithm, 3, 4, 4096);
    return test::plan_of({.algorithm = algorithm, .world = 3, .dtype = dtype, .layout = layout, .extents = even},
                         target);
  }

  const Compiler* compiler_ = nullptr;
};

/// Each place that records a fault exchanges one word, stores one pack of 16 bytes and releases one flag: what counts
/// is what comes on top of that.
std::size_t faults(const Instructions& instructions) {
  return count(instructions, "^global_atomic_swap ");
}

/// A rank's own product is stored as its threads hold it, four elements of a row at a time; all else moves 16 bytes.
void expect_wide_accesses(const Instructions& code, bool is_local) {
  EXPECT_GT(count(code, "^global_load_dwordx4 "), 0u);
  EXPECT_GT(count(code, is_local ? "^global_store_dwordx[24] " : "^global_store_dwordx4 "), faults(code));
}

/// What multiplies operands of that type.
std::string matrix_instruction(const std::string& target, const std::string& dtype) {
  if (dtype == "e4m3") return "^v_mfma_f32_16x16x32_fp8_fp8 ";
  if (dtype == "f64") return "^v_mfma_f64_16x16x4_?f64 ";
  if (dtype == "tf32" && target == "gfx942") return "^v_mfma_f32_16x16x8_xf32 ";
  if (dtype == "f32" || dtype == "tf32") return "^v_mfma_f32_16x16x4_?f32 ";
  return "^v_mfma_f32_16x16x(16|32)_?" + dtype;
}

/// Both operands pass through shared memory, in accesses of 16 bytes; on the way there a row-major B of 16 bits, whose
/// blocks are transposed, in 8. Results leave in 16.
void expect_matrix_units(const Instructions& code, const std::string& target, const std::string& dtype,
                         std::optional<Layout> layout) {
  EXPECT_GT(count(code, matrix_instruction(target, dtype)), 0u);
  EXPECT_GT(count(code, "^ds_write_b128 "), 0u);
  EXPECT_GT(count(code, "^ds_read_b128 "), 0u);
  EXPECT_EQ(count(code, "^ds_(read|write)_(u|b)(8|16)"), 0u);
  EXPECT_EQ(count(code, "^ds_write(2|2st64)?_b64 ") > 0, layout != Layout::nk && dtype == "bf16");
  EXPECT_GT(count(code, "^global_store_dwordx4 "), faults(code));
}

void expect_signals_of_system_scope(const Instructions& code, const std::string& target, bool signals) {
  const Spelling spelling = spelling_of(target);
  ASSERT_GT(faults(code), 0u);
  EXPECT_EQ(count_releases(code, spelling) > faults(code), signals);
  EXPECT_GT(count(code, spelling.load), 0u);
  EXPECT_GE(count(code, spelling.invalidate), count(code, spelling.load));
}

/// Words of 8 bytes go to each of the three ranks (a row of sums to one, which shows late) and come from each, two of
/// them a line, past the caches; nothing is published by writing a cache back.
void expect_words_of_system_scope(const Instructions& code, const std::string& target, const std::string& pattern) {
  const Spelling spelling = spelling_of(target);
  const std::size_t from_each = pattern == "broadcast" ? 1 : 3;
  const std::size_t to_each = pattern == "broadcast" ? 2 : pattern == "matmul_reduce_scatter" ? 1 : 3;
  ASSERT_GT(faults(code), 0u);
  EXPECT_LE(count_releases(code, spelling), faults(code));
  EXPECT_GE(count(code, spelling.load), 2 * from_each);
  EXPECT_GE(count(code, "^global_store_dwordx2 .*" + std::string(target == "gfx90a" ? "" : " sc0 sc1$")), 2 * to_each);
}

/// Atomics on other ranks' memory: of the system's scope where the target spells it, and on gfx90a no addition of
/// floats, which would do nothing there.
void expect_atomics_of_system_scope(const Instructions& code, const std::string& target, const std::string& variant,
                                    const std::string& dtype) {
  const std::string scope = target == "gfx90a" ? "" : " .*sc1$";
  if (variant == "spinlock") {
    EXPECT_GT(count(code, "^global_atomic_add_x2" + scope), 0u);
  } else if (target == "gfx90a") {
    EXPECT_GT(count(code, dtype == "f64" ? "^global_atomic_cmpswap_x2 " : "^global_atomic_cmpswap "), 0u);
    EXPECT_EQ(count(code, "^global_atomic_add_f"), 0u);
  } else {
    EXPECT_GT(count(code, "^global_atomic_add_" + dtype + scope), 0u);
  }
}

/// A launch counts itself by an atomic whose result nobody asks for, and so waits for.
void expect_no_wait_for_the_count(const Instructions& code) {
  const auto counting =
      std::ranges::find_if(code, [](const std::string& each) { return each.starts_with("global_atomic_add v"); });
  ASSERT_NE(counting, code.end());
  EXPECT_FALSE(std::regex_search(*counting, std::regex(" (glc|sc0)"))) << *counting;
}

TEST_P(Isa, HasTheInstructionsThatMatter) {
  ASSERT_FALSE(targets().empty());
  const Algorithm& algorithm = GetParam().algorithm;
  std::size_t number = GetParam().number / 2;  // both compilers of an algorithm begin with the same type
  for (const std::string& target : targets()) {
    std::vector<std::pair<std::string, std::string>> builds = {{"f32", ""},
                                                               {test::dtype_of(algorithm, {"bf16", "f64"}), ""}};
    // How operands are read and multiplied is the same in all templates: where products are fused, one type will do.
    if (algorithm.pattern == "matmul" && !test::multiplies_by_another(algorithm)) {
      for (const char* dtype : {"f32", "tf32", "bf16", "f64"}) builds.emplace_back(dtype, "nk");
      builds.emplace_back("f64", "");
      if (target != "gfx90a") builds.emplace_back("e4m3", "nk");
    } else if (test::is_matmul(algorithm) && !test::test_all()) {
      builds.erase(builds.begin() + static_cast<std::ptrdiff_t>(number++ % 2));
    }
    for (const auto& [dtype, layout] : builds) {
      const irisgen::Plan plan = this->plan(target, dtype, layout);
      const std::vector<CompileRequest> requests = make_requests(plan, emit_sources(plan));
      for (std::size_t i = 0; i < requests.size(); ++i) {
        SCOPED_TRACE(target + " " + plan.kernels[i].symbol);
        const Instructions code = disassemble(compiler_->compile(requests[i]));
        ASSERT_GT(count(code, "^s_endpgm"), 0u) << "no code";
        const bool sends_words = plan.kernels[i].variant.starts_with("low_latency");
        if (!plan.kernels[i].arguments.empty() && !sends_words) expect_wide_accesses(code, !plan.kernels[i].waits);
        if (plan.kernels[i].main_loop() == irisgen::MainLoop::mfma) {
          expect_matrix_units(code, target, dtype, plan.kernels[i].problem.layout_b);
        }
        // Who waits signals, too, but where copies come from other ranks.
        const bool signals = plan.kernels[i].template_path != "all_gather_matmul/producer_consumer.hip";
        if (sends_words) {
          expect_words_of_system_scope(code, target, plan.kernels[i].problem.pattern);
        } else if (plan.kernels[i].waits) {
          expect_signals_of_system_scope(code, target, signals);
        }
        if (plan.kernels[i].waits) expect_no_wait_for_the_count(code);
        const std::string& variant = plan.kernels[i].variant;
        if (variant == "atomic" || variant == "spinlock") expect_atomics_of_system_scope(code, target, variant, dtype);
        EXPECT_EQ(count(code, "^(flat|scratch)_"), 0u);
        EXPECT_EQ(count(code, "^buffer_(load|store|atomic)_"), 0u);
        EXPECT_EQ(count(code, "^s_swappc"), 0u);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Isa, testing::ValuesIn(cases()), [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace iris
