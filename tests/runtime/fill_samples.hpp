#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "iris/device/random.hpp"
#include "iris/fill.hpp"
#include "iris/values.hpp"
#include "iris/world.hpp"

namespace iris::test {

/// A way to fill a tensor, and what element i must be before it is rounded to the dtype.
struct Filling {
  const char* name;
  std::function<void(Group&, const TensorView&, Stream)> fill;
  std::function<double(std::int64_t i, std::int64_t count, Dtype dtype)> expected;
  bool of_integers = true;  ///< i32 can be filled so
};

constexpr Seed sample_seed = {.seed = 0x1234'5678'9abc'def0, .sequence = 0x7edc'ba98'7654'3210};

inline device::RandomWords sample_words(std::int64_t block) {
  return device::RandomSequence{sample_seed.seed, static_cast<std::uint64_t>(sample_seed.sequence)}.block(
      static_cast<std::uint64_t>(block));
}

/// By the definition in iris/fill.hpp, from words that are compared with published ones elsewhere.
inline double uniform_number(std::int64_t i, Dtype dtype) {
  if (dtype == Dtype::f64)
    return static_cast<double>(sample_words(i / 2).pair(static_cast<int>(i % 2)) >> 11) * 0x1p-53;
  const int bits = dtype == Dtype::f32 ? 24 : dtype == Dtype::f16 ? 11 : dtype == Dtype::bf16 ? 8 : 4;
  return std::ldexp(sample_words(i / 4).words[i % 4] >> (32 - bits), -bits);
}

/// As this program's compiler makes it of the same header: the elementary functions in it are measured elsewhere.
inline double normal_number(std::int64_t i, Dtype dtype) {
  if (dtype == Dtype::f64) return device::NormalNumbers<double>::of(sample_words(i / 2))[static_cast<int>(i % 2)];
  return device::NormalNumbers<float>::of(sample_words(i / 4))[static_cast<int>(i % 4)];
}

inline double integer_number(std::int64_t i, std::int64_t low, std::int64_t high) {
  const auto range = static_cast<unsigned __int128>(high - low);
  const auto product = range * sample_words(i / 2).pair(static_cast<int>(i % 2));
  return static_cast<double>(low + static_cast<std::int64_t>(product >> 64));
}

inline const std::vector<Filling>& fillings() {
  static const std::vector<Filling> all = {
      {"fill", [](Group& group, const TensorView& tensor, Stream stream) { fill(group, tensor, -3, stream); },
       [](std::int64_t, std::int64_t, Dtype) { return -3.0; }},
      {"arange",
       [](Group& group, const TensorView& tensor, Stream stream) { fill_arange(group, tensor, -4, 3, stream); },
       [](std::int64_t i, std::int64_t, Dtype) { return static_cast<double>(3 * i - 4); }},
      {"arange of fractions",
       [](Group& group, const TensorView& tensor, Stream stream) { fill_arange(group, tensor, 0.1, 1e-5, stream); },
       [](std::int64_t i, std::int64_t, Dtype) { return std::fma(static_cast<double>(i), 1e-5, 0.1); }, false},
      {"linspace",
       [](Group& group, const TensorView& tensor, Stream stream) { fill_linspace(group, tensor, -0.1, 7.3, stream); },
       [](std::int64_t i, std::int64_t count, Dtype) {
         if (count == 1) return -0.1;
         const double step = (7.3 - -0.1) / static_cast<double>(count - 1);
         return i < count / 2 ? std::fma(static_cast<double>(i), step, -0.1)
                              : std::fma(static_cast<double>(i - (count - 1)), step, 7.3);
       },
       false},
      {"rand",
       [](Group& group, const TensorView& tensor, Stream stream) { fill_rand(group, tensor, sample_seed, stream); },
       [](std::int64_t i, std::int64_t, Dtype dtype) { return uniform_number(i, dtype); }, false},
      {"randn",
       [](Group& group, const TensorView& tensor, Stream stream) { fill_randn(group, tensor, sample_seed, stream); },
       [](std::int64_t i, std::int64_t, Dtype dtype) { return normal_number(i, dtype); }, false},
      {"randint",
       [](Group& group, const TensorView& tensor, Stream stream) {
         fill_randint(group, tensor, -7, 12, sample_seed, stream);
       },
       [](std::int64_t i, std::int64_t, Dtype) { return integer_number(i, -7, 12); }},
  };
  return all;
}

/// The number of elements that are in an arange of 3 from -4 on, of those asked for: the largest of the dtype must not
/// be passed.
inline std::int64_t fitting(const Filling& filling, Dtype dtype, std::int64_t count) {
  const bool counts_up = std::string(filling.name) == "arange";
  const std::int64_t most = dtype == Dtype::e4m3 ? 100 : dtype == Dtype::f16 ? 20'000 : count;
  return counts_up ? std::min(count, most) : count;
}

/// Fills `count` elements of every dtype in every way, from an element on that is aligned to nothing more, and compares
/// every byte, those before and behind, too. What is wrong, in words.
inline std::string wrong_fillings(Context& context, std::int64_t most, Stream stream) {
  const auto heap_bytes = static_cast<std::size_t>((most + 2) * 8);
  void* const memory = context.allocate(heap_bytes);
  std::string wrong;
  for (const Filling& filling : fillings()) {
    for (const Dtype dtype : all_dtypes) {
      if (stored_dtype(dtype) != dtype) continue;  // a view of tf32 is of f32
      if (dtype == Dtype::i32 && !filling.of_integers) continue;
      const std::int64_t count = fitting(filling, dtype, most);
      std::vector<double> values(static_cast<std::size_t>(count) + 2, -1);
      for (std::int64_t i = 0; i < count; ++i) {
        values[static_cast<std::size_t>(i) + 1] = filling.expected(i, count, dtype);
      }
      const std::vector<std::byte> expected = to_bytes(values, dtype);
      std::vector<std::byte> actual = to_bytes(std::vector<double>(values.size(), -1), dtype);
      context.device().copy(memory, actual.data(), actual.size(), stream);
      const TensorView whole(memory, dtype, {count + 2});
      filling.fill(context, whole.slice(1, count + 1), stream);
      context.synchronize(stream);
      context.device().copy(actual.data(), memory, actual.size(), stream);
      const auto size = static_cast<std::size_t>(bytes_of(dtype));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto of = [&](const std::vector<std::byte>& bytes) { return std::span(bytes).subspan(i * size, size); };
        if (std::ranges::equal(of(actual), of(expected))) continue;
        wrong += std::string(filling.name) + " of " + std::string(to_string(dtype)) + ", element " +
                 std::to_string(static_cast<std::int64_t>(i) - 1) + " of " + std::to_string(count) + ": " +
                 std::to_string(to_values(of(actual), dtype).front()) + ", not " + std::to_string(values[i]) + "\n";
        break;
      }
    }
  }
  context.free(memory);
  return wrong;
}

}  // namespace iris::test
