#include "runtime/jit/clang/read/library_names.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/jit/clang/import/remedies.hpp"

namespace iris::clang_library {
namespace {

/// Functions of <iris/device/math.hpp>, by the C library's names for doubles.
constexpr std::array mathematics = {"abs", "ceil",  "copysign", "erf", "exp", "exp2", "expm1", "floor", "fma",
                                    "log", "log1p", "log2",     "max", "min", "rint", "rsqrt", "sqrt",  "tanh"};

struct Row {
  std::string_view names;  ///< with a blank between them
  std::string_view remedy;
};

constexpr std::string_view no_algorithms =
    "write a loop: over grid_threads<Config>() or block_threads<Config>() (<iris/device/partition.hpp>) where threads "
    "share the work";
constexpr std::string_view no_memory =
    "kernels allocate nothing; take shared<T>() for what the threads of a block share, and workspace<T>(launch, count) "
    "for more";
constexpr std::string_view no_output =
    "kernels print nothing; store what is to be seen in a buffer, which irisgen run writes to a file by --output";
constexpr std::string_view no_end =
    "a kernel cannot end the program; store what is wrong in a buffer, or leave a constant's check to static_assert";
constexpr std::string_view no_infinity = "write infinity<f32>() of <iris/device/math.hpp>";

/// Of the C and C++ libraries, beside mathematics that the vocabulary has.
constexpr std::array rows = {
    Row{"fabs", "write abs(x) of <iris/device/math.hpp>, for f32, f64 and i32"},
    Row{"fmin fminimum", "write min(a, b) of <iris/device/math.hpp>, which gives NaN if either is NaN"},
    Row{"fmax fmaximum", "write max(a, b) of <iris/device/math.hpp>, which gives NaN if either is NaN"},
    Row{"nearbyint round lround roundeven",
        "write rint(x) of <iris/device/math.hpp>, which gives the even one of two that are as near"},
    Row{"trunc", "write x < 0 ? ceil(x) : floor(x), of <iris/device/math.hpp>"},
    Row{"isnan", "write is_nan(x) of <iris/device/math.hpp>"},
    Row{"isinf", "write is_infinite(x) of <iris/device/math.hpp>"},
    Row{"isfinite", "write !is_nan(x) && !is_infinite(x), of <iris/device/math.hpp>"},
    Row{"pow", "for x > 0 write exp(y * log(x)), of <iris/device/math.hpp>; for whole powers, a product"},
    Row{"log10", "write log(x) * 0.43429448190325183, with log of <iris/device/math.hpp>"},
    Row{"erfc", "write 1 - erf(x), of <iris/device/math.hpp>, which is less precise where x is large"},
    Row{"sinh cosh", "write it by exp() of <iris/device/math.hpp>"},
    Row{"sin cos tan asin acos atan atan2 asinh acosh atanh cbrt hypot fmod remainder ldexp frexp tgamma lgamma",
        "the vocabulary has no such function; <iris/device/math.hpp> has exp, log, tanh, erf, sqrt and their like, and "
        "what else is needed is written in C++"},
    Row{"__expf", "write approximate::exp(x) of <iris/device/approximate.hpp>, or exp(x) of <iris/device/math.hpp>"},
    Row{"__tanhf", "write approximate::tanh(x) of <iris/device/approximate.hpp>, or tanh(x) of <iris/device/math.hpp>"},
    Row{"__fdividef", "write approximate::divide(a, b) of <iris/device/approximate.hpp>, or a / b"},
    Row{"INFINITY HUGE_VAL HUGE_VALF", no_infinity},
    Row{"NAN nan nanf", "write infinity<f32>() - infinity<f32>(), of <iris/device/math.hpp>"},
    Row{"FLT_MAX DBL_MAX FLT_EPSILON DBL_EPSILON FLT_MIN DBL_MIN INT_MAX INT_MIN M_PI M_E M_SQRT2 M_SQRT1_2 "
        "numeric_limits",
        "write the number as a constant; infinity<T>() is in <iris/device/math.hpp>"},
    Row{"printf fprintf puts putchar cout cerr clog print println format", no_output},
    Row{"malloc calloc realloc free aligned_alloc make_unique make_shared unique_ptr shared_ptr allocator", no_memory},
    Row{"vector string map set unordered_map deque list", no_memory},
    Row{"memcpy memmove copy copy_n",
        "write a loop, by packs if need be (load_pack, store_pack of <iris/device/pack.hpp>); from rank to rank get() "
        "and put() of <iris/device/rma.hpp> copy"},
    Row{"memset fill fill_n", "write a loop that stores the value, by packs if need be (<iris/device/pack.hpp>)"},
    Row{"memcmp strlen strcmp strcpy strncpy strcat", "there are no strings in a kernel; write a loop"},
    Row{"sort stable_sort partial_sort nth_element accumulate reduce transform for_each find find_if count count_if "
        "min_element max_element any_of all_of none_of inner_product partial_sum iota reverse unique lower_bound "
        "upper_bound binary_search",
        no_algorithms},
    Row{"swap exchange", "write T old = a; a = b; b = old;"},
    Row{"move forward", "leave it out: what kernels hold is copied"},
    Row{"array span tuple pair optional variant", "write an array, or a struct of your own"},
    Row{"atomic atomic_ref", "write atomic_add(address, value) and its like, of <iris/device/atomics.hpp>"},
    Row{"thread mutex lock_guard unique_lock condition_variable",
        "threads of a block meet in sync_block(); for a lock across ranks see <iris/device/lock.hpp>"},
    Row{"assert abort exit terminate quick_exit", no_end},
    Row{"rand srand random_device mt19937", "count random numbers, by <iris/device/random.hpp>"},
    Row{"time clock clock_gettime gettimeofday", "waits are bounded by themselves, and irisgen bench measures"},
    Row{"bit_cast", "write __builtin_bit_cast(T, value)"},
    Row{"size_t uint64_t uintptr_t", "write u64, of <iris/device/types.hpp>"},
    Row{"ptrdiff_t int64_t ssize_t intptr_t", "write i64, of <iris/device/types.hpp>"},
    Row{"uint32_t", "write u32, of <iris/device/types.hpp>"},
    Row{"int32_t", "write i32, of <iris/device/types.hpp>"},
    Row{"uint8_t byte", "write u8, of <iris/device/types.hpp>"},
    Row{"int8_t", "write i8, of <iris/device/types.hpp>"},
    Row{"half __half", "write f16, of <iris/device/numeric.hpp>"},
    Row{"__nv_bfloat16 nv_bfloat16 hip_bfloat16", "write bf16, of <iris/device/numeric.hpp>"},
};

bool has_word(llvm::StringRef words, llvm::StringRef word) {
  while (!words.empty()) {
    const auto [first, rest] = words.split(' ');
    if (first == word) return true;
    words = rest;
  }
  return false;
}

std::optional<std::string> row_of(llvm::StringRef name) {
  const auto* const row = std::ranges::find_if(rows, [&](const Row& one) { return has_word(one.names, name); });
  return row == rows.end() ? std::nullopt : std::optional(std::string(row->remedy));
}

bool is_mathematics(llvm::StringRef name) {
  return std::ranges::find(mathematics, name) != mathematics.end();
}

/// The function for doubles that `expf`, `expl` or `__expf` stands for, if the library has one.
llvm::StringRef of_double(llvm::StringRef name) {
  name.consume_front("__");
  const llvm::StringRef shorter = name.drop_back(name.empty() ? 0 : 1);
  const bool has_suffix = name.ends_with("f") || name.ends_with("l");
  const bool is_known = is_mathematics(shorter) || has_word(rows[0].names, shorter) || shorter == "fmin" ||
                        shorter == "fmax" || row_of(shorter).value_or("").find("math.hpp") != std::string::npos;
  return has_suffix && is_known ? shorter : name;
}

std::optional<std::string> remedy_in_kernel(llvm::StringRef name, bool of_std) {
  if (const auto found = row_of(name)) return found;
  const llvm::StringRef plain = of_double(name);
  if (is_mathematics(plain)) {
    return "include <iris/device/math.hpp> and write " + plain.str() + "(), which takes f32 and f64 alike";
  }
  if (const auto found = row_of(plain)) return found;
  if (of_std) return "what kernels have is the vocabulary, <iris/device/…>, and what their own files define";
  if (const importing::Remedy* gpus = importing::remedy_of(name)) return std::string(gpus->text);
  if (name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim")
    return std::string(importing::remedy_of_index(name, "x")->text);
  return std::nullopt;
}

/// What C has by that name is for integers, or nothing.
llvm::StringRef in_c_library(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("abs", "fabs")
      .Cases({"max", "fmaximum"}, "fmax")
      .Cases({"min", "fminimum"}, "fmin")
      .Default(name);
}

/// References run on the CPU, where Clang calls the C library's mathematics.
std::optional<std::string> remedy_in_reference(llvm::StringRef name, bool of_std) {
  const llvm::StringRef plain = of_double(name);
  const auto known = row_of(plain);
  if (plain == "rsqrt") return "write 1 / __builtin_sqrt(value)";
  if (plain != "numeric_limits" && (is_mathematics(plain) || (known && known->find("math.hpp") != std::string::npos &&
                                                              llvm::isLower(plain.front()))))
    return "write __builtin_" + in_c_library(plain).str() + "(), which calls the C library's";
  if (known == std::string(no_output) || known == std::string(no_end)) return "leave it out: a reference only computes";
  if (known || of_std) return "a reference has the language alone, and __builtin_exp() and its like of the C library";
  return std::nullopt;
}

/// `sort` where `std::sort` stands; nothing for what `std` is else.
llvm::StringRef name_in_std(const Place& place) {
  llvm::StringRef line = place.source_line;
  line = line.drop_front(std::min<std::size_t>(line.size(), static_cast<std::size_t>(std::max(place.column, 1)) - 1));
  if (!line.consume_front("std")) return {};
  line = line.ltrim();
  if (!line.consume_front("::")) return {};
  return line.ltrim().take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// The name in `use of undeclared identifier 'printf'` and its like; empty for other messages.
llvm::StringRef unknown_name(llvm::StringRef message) {
  const bool is_known_form = message.consume_front("use of undeclared identifier '") ||
                             message.consume_front("unknown type name '") ||
                             message.consume_front("no template named '");
  return is_known_form ? message.take_until([](char c) { return c == '\''; }) : llvm::StringRef();
}

/// Clang knows a better one, such as a variable of nearly that name; and this is no call.
bool is_misspelt(const Diagnostic& diagnostic, llvm::StringRef name) {
  if (!llvm::StringRef(diagnostic.message).contains("did you mean")) return false;
  llvm::StringRef rest = diagnostic.place.source_line;
  rest = rest.drop_front(std::min(rest.size(), static_cast<std::size_t>(std::max(diagnostic.place.column, 1)) - 1));
  return !rest.consume_front(name) || !rest.ltrim().starts_with("(");
}

}  // namespace

void explain_library_names(std::vector<Diagnostic>& diagnostics, Purpose purpose) {
  for (Diagnostic& one : diagnostics) {
    const std::string unknown = unknown_name(one.message).str();
    if (unknown.empty() || is_misspelt(one, unknown)) continue;
    const std::string in_std = unknown == "std" ? name_in_std(one.place).str() : "";
    const std::string name = in_std.empty() ? unknown : in_std;
    const bool of_std = unknown == "std";
    const auto remedy = purpose == Purpose::kernel ? remedy_in_kernel(name, of_std) : remedy_in_reference(name, of_std);
    if (!remedy) continue;
    one.message = "'" + std::string(of_std && !in_std.empty() ? "std::" : "") + name + "' is not there in a " +
                  (purpose == Purpose::kernel ? "kernel: " : "reference: ") + *remedy;
    one.notes.clear();
    one.fix_its.clear();
  }
}

}  // namespace iris::clang_library
