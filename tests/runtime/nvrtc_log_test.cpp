#include "runtime/jit/compilers/nvrtc_log.hpp"

#include <gtest/gtest.h>

namespace iris::nvrtc_log_test {
namespace {

TEST(WithPlaces, puts_line_and_column_where_clang_puts_them) {
  EXPECT_EQ(with_places("a.hip(2): error: identifier \"foo\" is undefined\n"
                        "        a[threadIdx.x]=foo;\n"
                        "                       ^\n"
                        "\n"
                        "1 error detected in the compilation of \"a.hip\".\n",
                        "a.hip"),
            "a.hip:2:22: error: identifier \"foo\" is undefined\n"
            "        a[threadIdx.x]=foo;\n"
            "                       ^\n"
            "\n"
            "1 error detected in the compilation of \"a.hip\".\n");
}

TEST(WithPlaces, takes_a_name_with_parentheses_and_a_message_without_caret) {
  EXPECT_EQ(with_places("a(1).hip(31): warning: odd\na(1).hip(32): error: bad", "a(1).hip"),
            "a(1).hip:31:1: warning: odd\na(1).hip:32:1: error: bad\n");
}

TEST(WithPlaces, leaves_other_lines_alone) {
  EXPECT_EQ(with_places("b.hip(1): error: elsewhere\na.hip: no place\na.hip(x): y\n", "a.hip"),
            "b.hip(1): error: elsewhere\na.hip: no place\na.hip(x): y\n");
}

constexpr std::string_view verbose_log =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
    "ptxas info    : Function properties for second\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, used 0 barriers\n"
    "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
    "ptxas info    : Function properties for first\n"
    "ptxas         .     400 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 400 bytes cumulative stack size, 256 bytes smem\n";

TEST(ResourcesOf, reads_the_entry_that_is_asked_for) {
  const Resources first = resources_of(verbose_log, "first");
  EXPECT_EQ(first.registers, 32);
  EXPECT_EQ(first.shared_bytes, 256);
  EXPECT_EQ(first.spill_bytes, 400);
  EXPECT_EQ(first.scalar_registers, std::nullopt);
  const Resources second = resources_of(verbose_log, "second");
  EXPECT_EQ(second.registers, 8);
  EXPECT_EQ(second.shared_bytes, 0);
  EXPECT_EQ(second.spill_bytes, 0);
}

TEST(ResourcesOf, knows_nothing_of_an_entry_that_is_not_there) {
  EXPECT_EQ(resources_of(verbose_log, "third").registers, std::nullopt);
  EXPECT_EQ(resources_of(verbose_log, "firs").registers, std::nullopt);
}

}  // namespace
}  // namespace iris::nvrtc_log_test
