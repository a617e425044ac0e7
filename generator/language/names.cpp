#include "generator/language/names.hpp"

#include <algorithm>
#include <array>

namespace irisgen {
namespace {

// Keywords of C++20, alternative spellings included, and what emitted code uses at namespace scope.
constexpr auto reserved = std::to_array<std::string_view>(
    {"alignas",       "alignof",      "and",       "and_eq",       "asm",       "auto",
     "bitand",        "bitor",        "bool",      "break",        "case",      "catch",
     "char",          "char16_t",     "char32_t",  "char8_t",      "class",     "co_await",
     "co_return",     "co_yield",     "compl",     "concept",      "const",     "const_cast",
     "consteval",     "constexpr",    "constinit", "continue",     "decltype",  "default",
     "delete",        "do",           "double",    "dynamic_cast", "else",      "enum",
     "explicit",      "export",       "extern",    "false",        "float",     "for",
     "friend",        "goto",         "if",        "inline",       "int",       "iris",
     "irisgen",       "long",         "main",      "mutable",      "namespace", "new",
     "noexcept",      "not",          "not_eq",    "nullptr",      "operator",  "or",
     "or_eq",         "private",      "protected", "public",       "register",  "reinterpret_cast",
     "requires",      "return",       "short",     "signed",       "sizeof",    "static",
     "static_assert", "static_cast",  "std",       "struct",       "switch",    "template",
     "this",          "thread_local", "throw",     "true",         "try",       "typedef",
     "typeid",        "typename",     "union",     "unsigned",     "using",     "virtual",
     "void",          "volatile",     "wchar_t",   "while",        "xor",       "xor_eq",
     "errno",         "assert"});

}  // namespace

bool is_reserved(std::string_view name) {
  return std::ranges::find(reserved, name) != reserved.end();
}

bool is_for_macros(std::string_view name) {
  return name.size() > 1 && name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

std::string class_name(std::string_view kernel_name) {
  std::string name;
  bool starts_word = true;
  for (const char c : kernel_name) {
    if (c != '_') name += starts_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    starts_word = c == '_';
  }
  const bool is_identifier = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
  return is_identifier ? name : "Kernel" + name;
}

}  // namespace irisgen
