#include "runtime/jit/compilers/ask.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/runtime/compiler_samples.hpp"
#include "tests/runtime/variable.hpp"

namespace iris::ask_test {
namespace {

using nlohmann::json;

/// What the front end says of a source.
class Ask : public testing::Test {
 protected:
  void SetUp() override { IRISGEN_REQUIRE_COMPILER("clang", "host"); }

  static json findings(const std::string& source, const std::string& name = "sample.hip") {
    return ask({{"task", "lint"}, {"name", name}, {"source", source}}).at("findings");
  }
  static std::string failure(const std::string& source) {
    try {
      return "answered: " + findings(source).dump();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  static json only_finding(const std::string& source, const std::string& name = "sample.hip") {
    const json all = findings(source, name);
    EXPECT_EQ(all.size(), 1u) << all.dump(2);
    return all.empty() ? json() : all[0];
  }
};

TEST_F(Ask, knows_the_vocabulary_and_says_nothing_of_what_is_right) {
  EXPECT_EQ(findings("#include <iris/device/barrier.hpp>\n#include <iris/device/main_loop.hpp>\n"
                     "__device__ iris::device::i32 f(const iris::device::Context& c) { return c.rank; }\n"),
            json::array());
}

TEST_F(Ask, gives_an_error_as_data) {
  const json error = only_finding("\n\n  int broken = missing + 1;\r\n");
  EXPECT_EQ(error.at("severity"), "error");
  EXPECT_EQ(error.at("message"), "use of undeclared identifier 'missing'");
  EXPECT_EQ(error.at("place"), json({{"file", "sample.hip"},
                                     {"line", 3},
                                     {"column", 16},
                                     {"end_line", 3},
                                     {"end_column", 23},
                                     {"source_line", "  int broken = missing + 1;"}}));
}

TEST_F(Ask, gives_notes_and_fix_its_with_what_they_belong_to) {
  const json error = only_finding("int warp_index();\nint i = warp_indx();\n");
  EXPECT_EQ(error.at("message"), "use of undeclared identifier 'warp_indx'; did you mean 'warp_index'?");
  ASSERT_EQ(error.at("fix_its").size(), 1u) << error.dump(2);
  EXPECT_EQ(error.at("fix_its")[0].at("text"), "warp_index");
  EXPECT_EQ(error.at("fix_its")[0].at("place").at("column"), 9);
  EXPECT_EQ(error.at("fix_its")[0].at("place").at("end_column"), 18);
  ASSERT_EQ(error.at("notes").size(), 1u) << error.dump(2);
  EXPECT_EQ(error.at("notes")[0].at("place").at("line"), 1);
}

TEST_F(Ask, says_of_the_standard_library_what_there_is_instead) {
  const json error = only_finding("#include <vector>\n");
  const auto message = error.at("message").get<std::string>();
  EXPECT_EQ(message.find("'vector' file not found; kernels are freestanding"), 0u) << message;
  EXPECT_NE(message.find("<iris/device/signal.hpp>"), std::string::npos) << message;
  EXPECT_EQ(error.at("place").at("column"), 10);
}

TEST_F(Ask, reads_what_lies_next_to_the_file_and_no_device) {
  const auto folder = std::filesystem::temp_directory_path() / ("irisgen-ask-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "kernels");
  std::ofstream(folder / "shared.hpp") << "#pragma once\ninline int shared_value = 1;\n";
  std::ofstream(folder / "large.hpp") << "//" << std::string(2'000'000, 'x') << "\n";
  const std::string name = (folder / "kernels" / "sample.hip").string();
  EXPECT_EQ(findings("#include \"../shared.hpp\"\nint value = shared_value;\n", name), json::array());
  EXPECT_NE(findings("#include \"../large.hpp\"\n", name), json::array());
  EXPECT_EQ(only_finding("#include \"/dev/zero\"\n", name).at("place").at("line"), 1);
  std::filesystem::remove_all(folder);
}

TEST_F(Ask, ends_with_a_place_whatever_the_source_asks_for) {
  const std::vector<std::string> sources = {
      "template <int n> struct Deep { static constexpr int value = Deep<n + 1>::value; };\nint x = Deep<0>::value;\n",
      "template <typename T> void again(T x) { again(&x); }\nvoid f() { again(1); }\n",
      "template <int n, int m> struct Wide { static constexpr int value = Wide<n + 1, 2 * m>::value + Wide<n + 1, 2 * "
      "m + "
      "1>::value; };\ntemplate <int m> struct Wide<22, m> { static constexpr int value = 1; };\nint x = Wide<0, "
      "0>::value;\n",
      "constexpr int turn(int n) { return turn(n + 1); }\nconstexpr int x = turn(0);\n",
      "constexpr int spin() { for (;;) {} }\nconstexpr int x = spin();\n",
      "#include \"sample.hip\"\n",
      "int x = " + std::string(100'000, '(') + "1;\n",
      "#if 1\n",
      "/* never closed\n",
      "//" + std::string(1 << 20, ' ') + "\n",
      "\x01\x02\xff\xfe",
      "[[annotate(\"iris\")]] int f( {\n",
      "#embed \"/dev/zero\"\n",
  };
  for (const std::string& source : sources) {
    const json all = findings(source);
    ASSERT_FALSE(all.empty()) << source.substr(0, 200);
    EXPECT_EQ(all[0].at("severity"), "error");
    EXPECT_EQ(all[0].at("place").at("file"), "sample.hip") << all[0].dump(2);
    EXPECT_GE(all[0].at("place").at("line"), 1) << all[0].dump(2);
  }
}

TEST_F(Ask, goes_on_after_the_front_end_gave_up) {
  std::string doubling = "#define M0 x\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "M" + std::to_string(i - 1);
    doubling += "#define M" + std::to_string(i) + " " + before + " " + before + "\n";
  }
  for (const std::string& source : {doubling + "M39\n", std::string("#pragma clang __debug crash\n"),
                                    "int x = " + std::string(1'000'000, '!') + "1;\n"}) {
    const std::string error = failure(source);
    EXPECT_EQ(error.find("sample.hip: error: the compiler crashed: "), 0u) << error;
    EXPECT_EQ(findings("int x;\n"), json::array());
  }
}

TEST_F(Ask, says_that_there_is_no_such_task) {
  try {
    (void)ask({{"task", "sing"}, {"name", "sample.hip"}, {"source", ""}});
    FAIL() << "did not throw";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "sample.hip: error: there is no task 'sing'");
  }
}

}  // namespace
}  // namespace iris::ask_test
