// What kernels need on the heap: flags and workspaces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/generator/samples.hpp"

namespace irisgen::kernel_memory_test {
namespace {

/// As device/signal.hpp counts them: one of each block for each rank. A flag too few would be another kernel's.
TEST(Flags, AreOneForEachBlockAndRank) {
  const std::string rest = "dtype: f32, world: 5, shape: {n: 1000}, config: {blocks: 7}";
  for (const char* pattern : {"all_gather", "reduce_scatter", "all_to_all", "broadcast"}) {
    EXPECT_EQ(plan(pattern, rest + ", variant: direct", "gfx942").kernels.at(0).flags, 35) << pattern;
  }
  for (const char* variant : {"one_shot", "two_shot"}) {
    EXPECT_EQ(plan("all_reduce", rest + ", variant: " + variant, "gfx942").kernels.at(0).flags, 35) << variant;
  }
}

TEST(Workspace, HoldsTwoBuffersOfASlotForEachRank) {
  const auto one_shot = [](const std::string& shape) {
    return plan("all_reduce", "dtype: f32, world: 3, variant: one_shot, shape: " + shape, "host")
        .kernels.at(0)
        .workspace;
  };
  const auto bytes = [](const iris::ByteSize& size) { return size.terms.at(0).bytes; };
  EXPECT_EQ(bytes(one_shot("{n: 100}")), 2 * 1280);  // 3 slots of 400 bytes, rounded up to 256
  EXPECT_EQ(bytes(one_shot("{n: 0}")), 0);
  const iris::ByteSize dynamic = one_shot("{m: 10, n: dynamic}");
  ASSERT_EQ(dynamic.terms.size(), 2u);
  EXPECT_GE(dynamic.terms[0].bytes, 2 * 3 * 12);  // each slot may be rounded up by three elements
  EXPECT_EQ(dynamic.terms[1], (iris::ByteSize::Term{2 * 3 * 10 * 4, {"n"}}));
}

/// 8 bytes of elements beside 8 of marks, a slot for each rank.
TEST(Workspace, HoldsTwoBuffersOfLinesFromEachRank) {
  const auto lines = [](const std::string& pattern, const std::string& shape) {
    return plan(pattern, "dtype: bf16, world: 3, variant: low_latency, shape: " + shape, "host")
        .kernels.at(0)
        .workspace;
  };
  const auto bytes = [](const iris::ByteSize& size) { return size.terms.at(0).bytes; };
  for (const char* pattern : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}) {
    EXPECT_EQ(bytes(lines(pattern, "{n: 100}")), 2 * 1280) << pattern;  // 3 · 25 lines of 16 bytes, rounded up to 256
    EXPECT_EQ(bytes(lines(pattern, "{n: 101}")), 2 * 1280) << pattern;  // 3 · 26
    EXPECT_EQ(bytes(lines(pattern, "{n: 0}")), 2 * 256) << pattern;     // an empty line from each
    const iris::ByteSize dynamic = lines(pattern, "{m: 10, n: dynamic}");
    ASSERT_EQ(dynamic.terms.size(), 2u);
    EXPECT_GE(dynamic.terms[0].bytes, 2 * 3 * 16);  // each slot may be rounded up by a line
    EXPECT_EQ(dynamic.terms[1], (iris::ByteSize::Term{2 * 3 * 10 * 4, {"n"}}));
  }
}

/// 12 bytes of elements in 16 of a line where much is sent, by targets that write those as a whole; else 8.
TEST(Lines, AreWideWhereARankSendsMuch) {
  const auto of_line = [](const std::string& pattern, const std::string& rest, const std::string& target) {
    return plan(pattern, "variant: low_latency, world: 3, " + rest, target).kernels.at(0).number("line");
  };
  constexpr std::int64_t longest = 32768;  // elements of f32 of which a rank sends 256 KiB to two others
  const std::string at_most = "shape: {n: " + std::to_string(longest) + "}";
  const std::string more = "shape: {n: " + std::to_string(longest + 1) + "}";
  for (const char* pattern : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}) {
    EXPECT_EQ(of_line(pattern, "dtype: f32, " + at_most, "sm_90a"), 2) << pattern;
    EXPECT_EQ(of_line(pattern, "dtype: f32, " + more, "sm_90a"), 3) << pattern;
    EXPECT_EQ(of_line(pattern, "dtype: f32, " + more, "gfx942"), 2) << pattern << ": 64 bits are written as a whole";
    EXPECT_EQ(of_line(pattern, "dtype: f64, " + more, "sm_90a"), 1) << pattern << ": an element has 8 bytes";
    EXPECT_EQ(of_line(pattern, "dtype: f32, shape: {n: dynamic}", "sm_90a"), 2) << pattern << ": that may be short";
    EXPECT_EQ(of_line(pattern, "dtype: f32, config: {vector: 2}, shape: {n: 65536}", "sm_90a"), 2)
        << pattern << ": lines of 12 bytes begin where no access of 8 does";
  }
  EXPECT_EQ(of_line("all_reduce", "dtype: bf16, shape: {n: 1000000}", "sm_90a"), 6);
}

/// Of a workspace that grows with the only dynamic extent.
std::int64_t bytes_of_element(const iris::ByteSize& workspace) {
  std::int64_t bytes = 0;
  for (const iris::ByteSize::Term& term : workspace.terms) bytes += term.extents.empty() ? 0 : term.bytes;
  return bytes;
}

struct InParts {
  std::string kernel;
  std::int64_t parts;
  std::int64_t slots;  ///< a rank's, in all mailboxes
};

/// Variants whose messages come in parts, in a world of so many ranks.
std::vector<InParts> variants_in_parts(int world) {
  const std::string rest = ", dtype: bf16, world: " + std::to_string(world);
  return {{"{name: a, pattern: broadcast, variant: low_latency_scatter_gather" + rest, world - 1, world},
          {"{name: a, pattern: all_reduce, variant: low_latency_two_shot" + rest, world, 2 * world}};
}

/// A part has up to two lines more than its share: of 10 lines there are four in each of three parts.
TEST(Workspace, HasRoomForTheLinesOfEveryPart) {
  for (const int world : {2, 3, 4, 8}) {
    for (const auto& [text, parts, slots] : variants_in_parts(world)) {
      const auto kernel = [&text = text](const std::string& n) {
        return plan_of(text + ", shape: {n: " + n + "}}", "sm_90a").kernels.at(0);
      };
      for (const std::int64_t n : {0, 1, 40, 41, 84, 1000003}) {
        const std::int64_t of_line = n > 1000000 ? 6 : 4;
        EXPECT_EQ(kernel(std::to_string(n)).number("line"), of_line);
        const std::int64_t lines = std::max<std::int64_t>(1, (n + of_line - 1) / of_line);
        std::int64_t reserved = 0;
        for (const iris::ByteSize::Term& term : kernel(std::to_string(n)).workspace.terms) reserved += term.bytes;
        const std::int64_t needed = 2 * slots * ((lines + parts - 1) / parts) * 16;
        EXPECT_GE(reserved, needed) << text << " of " << n;
        EXPECT_LE(reserved, needed + 4096) << text << " of " << n;
      }
      // Two buffers, elements of 2 bytes beside as many of marks.
      EXPECT_GE(bytes_of_element(kernel("dynamic").workspace) * parts, 2 * 2 * 2 * slots) << text;
    }
  }
}

/// Kernels of open sizes have lines of 12 bytes, six elements, where they are launched for much only.
TEST(Workspace, HasRoomForWideLinesWhereSizesAreOpen) {
  struct Shares {
    std::int64_t parts, slots;
  };
  const std::map<std::string, Shares> of_variants = {{"low_latency", {.parts = 1, .slots = 4}},
                                                     {"low_latency_scatter_gather", {.parts = 3, .slots = 4}},
                                                     {"low_latency_two_shot", {.parts = 4, .slots = 8}}};
  for (const char* pattern : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}) {
    int wide = 0;
    for (const KernelPlan& kernel : plan(pattern, "dtype: bf16, world: 4, shape: {n: dynamic}", "sm_90a").kernels) {
      const auto of_variant = of_variants.find(kernel.variant);
      if (of_variant == of_variants.end() || kernel.number("line") != 6) continue;
      ++wide;
      const auto [parts, slots] = of_variant->second;
      EXPECT_GE(bytes_of_element(kernel.workspace) * parts * 6, 2 * slots * 16) << pattern << " " << kernel.variant;
    }
    EXPECT_GE(wide, 1) << pattern;
  }
}

}  // namespace
}  // namespace irisgen::kernel_memory_test
