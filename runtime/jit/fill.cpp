#include "iris/fill.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

#include "generator/emit/fill.hpp"
#include "runtime/jit/build.hpp"
#include "runtime/world/group.hpp"

namespace iris {

namespace {

using irisgen::FillKind;

std::string name_of(Dtype dtype) {
  return std::string(to_string(dtype));
}

/// As people write it: 0.1, 1e+06.
std::string text_of(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  for (int digits = 6; digits < 17; ++digits) {
    std::array<char, 32> shorter{};
    std::snprintf(shorter.data(), shorter.size(), "%.*g", digits, value);
    if (std::strtod(shorter.data(), nullptr) == value) return shorter.data();
  }
  return text.data();
}

/// What a dtype can hold.
struct Range {
  double largest;
  int exact_integers;  ///< all of them up to 2^exact_integers
  bool has_infinity;
  bool has_nan;
};
Range range_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return {std::numeric_limits<double>::max(), 53, true, true};
    case Dtype::f32:
    case Dtype::tf32:  // as it lies in memory
      return {std::numeric_limits<float>::max(), 24, true, true};
    case Dtype::f16:
      return {65504, 11, true, true};
    case Dtype::bf16:
      return {0x1.fep127, 8, true, true};
    case Dtype::e4m3:
      return {448, 4, false, true};
    case Dtype::i32:
      break;
  }
  return {std::numeric_limits<std::int32_t>::max(), 31, false, false};
}

bool is_integer(Dtype dtype) {
  return dtype == Dtype::i32;
}

void check_value(const char* call, Dtype dtype, double value) {
  const Range range = range_of(dtype);
  const auto refuse = [&](const std::string& why) {
    return std::invalid_argument(std::string(call) + ": " + text_of(value) + " is not a value of " + name_of(dtype) +
                                 ", " + why);
  };
  if (std::isnan(value)) {
    if (!range.has_nan) throw refuse("which has no NaN");
  } else if (std::isinf(value)) {
    if (!range.has_infinity) throw refuse("which has no infinity");
  } else if (is_integer(dtype) && value != std::floor(value)) {
    throw refuse("which has integers alone");
  } else if (std::abs(value) > range.largest && !(is_integer(dtype) && value == -range.largest - 1)) {
    throw refuse("whose largest is " + text_of(range.largest));
  }
}

void check_finite(const char* call, double value) {
  if (!std::isfinite(value)) {
    throw std::invalid_argument(std::string(call) + " takes finite numbers, not " + text_of(value));
  }
}

void check_is_float(const char* call, Dtype dtype, const char* instead) {
  if (!is_integer(dtype)) return;
  throw std::invalid_argument(std::string(call) + " makes floats, not " + name_of(dtype) + "; " + instead);
}

void check_writable(const char* call, const TensorView& tensor) {
  const std::string words = std::string(call) + " is given a tensor of " + to_string(tensor);
  if (tensor.is_read_only()) throw std::invalid_argument(words + " that is read-only");
  if (!tensor.is_contiguous()) throw std::invalid_argument(words + "; it fills tensors without gaps");
}

/// Compiled, or found in the cache, and loaded once on each rank, which a capture in the stream would not survive.
const OwnKernel& kernel_of(Context::State& context, FillKind kind, Dtype dtype, Stream stream) {
  const std::string key = std::string(irisgen::to_string(kind)) + " " + name_of(dtype);
  const auto known = context.kernels.find(key);
  if (known != context.kernels.end()) return known->second;
  if (context.device.is_capturing(stream)) {
    throw std::runtime_error("the first fill of a kind, here '" + key +
                             "', loads its kernel, which cannot be done in a stream that is captured; fill a tensor of "
                             "this kind before the capture begins");
  }
  const std::string name = context.device.target();
  const irisgen::Target* const target = irisgen::find_target(name);
  if (target == nullptr) throw std::runtime_error("irisgen makes no code for " + name + "; see irisgen list");
  irisgen::FillSource source = irisgen::emit_fill(kind, dtype, *target);
  const CodeObject code =
      build({.name = source.name, .source = std::move(source.text), .symbol = source.symbol, .target = target}, "",
            Cache::of_user());
  OwnKernel kernel{.symbol = source.symbol,
                   .module = context.device.load(code),
                   .function = nullptr,
                   .blocks = source.blocks,
                   .threads = source.threads};
  kernel.function = &kernel.module->function(source.symbol);
  return context.kernels.emplace(key, std::move(kernel)).first->second;
}

/// `parameters` as the kind's entry takes them.
template <typename... Parameters>
void launch(Group& group, FillKind kind, const TensorView& tensor, Stream stream, const Parameters&... parameters) {
  if (tensor.numel() == 0) return;
  Context::State& context = group.state().context;
  const OwnKernel& kernel = kernel_of(context, kind, tensor.dtype(), stream);
  void* const data = tensor.data();
  const std::int64_t count = tensor.numel();
  const std::array arguments = {ArgumentBytes{static_cast<const void*>(&data), sizeof data},
                                ArgumentBytes{&count, sizeof count}, ArgumentBytes{&parameters, sizeof parameters}...};
  // What is captured runs when its graph does, which whoever launches that waits for.
  if (!context.device.is_capturing(stream)) context.filling.insert(stream);
  context.device.launch(*kernel.function,
                        {.name = kernel.symbol, .blocks = kernel.blocks, .threads = kernel.threads, .stream = stream},
                        arguments);
}

void check_integers(const char* call, Dtype dtype, std::int64_t low, std::int64_t high) {
  const auto refuse = [&](const std::string& why) {
    return std::invalid_argument(std::string(call) + ": [" + std::to_string(low) + ", " + std::to_string(high) + ") " +
                                 why);
  };
  if (low >= high) throw refuse("has no integers");
  const std::int64_t limit = std::int64_t{1} << range_of(dtype).exact_integers;
  const std::int64_t last = is_integer(dtype) ? limit - 1 : limit;
  if (low < -limit || high - 1 > last) {
    throw refuse("has integers that " + name_of(dtype) + " has not, all of whose are from " + std::to_string(-limit) +
                 " to " + std::to_string(last));
  }
  if (high - low > std::int64_t{1} << 32) throw refuse("has more than 2^32 integers");
}

// The checks stand before what is collective, so that ranks which all ask for what cannot be do not wait for one
// another.

void check_arange(const char* call, Dtype dtype, std::int64_t count, double start, double step) {
  check_finite(call, start);
  check_finite(call, step);
  if (is_integer(dtype)) check_value(call, dtype, step);
  if (count == 0) return;
  check_value(call, dtype, start);
  check_value(call, dtype, std::fma(static_cast<double>(count - 1), step, start));
}

std::int64_t length_of_arange(double start, double end, double step) {
  for (const double value : {start, end, step}) check_finite("arange", value);
  if (step == 0) throw std::invalid_argument("arange: the step is 0");
  const double whole = end - start;
  // Where that is beyond the largest number, a part of each need not be.
  const double length = std::ceil(std::isfinite(whole) ? whole / step : end / step - start / step);
  if (!(length < 0x1p62)) throw std::invalid_argument("arange: there are more than 2^62 numbers");
  return length > 0 ? static_cast<std::int64_t>(length) : 0;
}

void check_linspace(const char* call, Dtype dtype, double start, double end) {
  check_is_float(call, dtype, "take arange");
  for (const double value : {start, end}) {
    check_finite(call, value);
    check_value(call, dtype, value);
  }
}

/// A tensor of `call`, filled when it is returned. A kernel that is compiled, loaded or run may fail on one rank alone.
template <typename Fill>
Tensor filled(const char* call, Group& group, const Shape& shape, Dtype dtype, Stream stream, const Fill& fill) {
  Tensor tensor = empty(group, shape, dtype);
  group.state().fail_alike(group.state().call(std::string(call) + "()"), [&] {
    fill(tensor.view());
    group.synchronize(stream);
  });
  return tensor;
}

void fill_random(const char* call, FillKind kind, Group& group, const TensorView& tensor, const Seed& seed,
                 Stream stream) {
  check_writable(call, tensor);
  check_is_float(call, tensor.dtype(), "take randint");
  launch(group, kind, tensor, stream, seed.seed, static_cast<std::uint64_t>(seed.sequence));
}

Tensor random(const char* call, FillKind kind, Group& group, const Shape& shape, Dtype dtype, const Seed& seed,
              Stream stream) {
  check_is_float(call, dtype, "take randint");
  return filled(call, group, shape, dtype, stream,
                [&](const TensorView& tensor) { fill_random(call, kind, group, tensor, seed, stream); });
}

}  // namespace

void fill(Group& group, const TensorView& tensor, double value, Stream stream) {
  check_writable("fill", tensor);
  check_value("fill", tensor.dtype(), value);
  launch(group, FillKind::constant, tensor, stream, value);
}

Tensor full(Group& group, const Shape& shape, double value, Dtype dtype, Stream stream) {
  check_value("full", dtype, value);
  return filled("full", group, shape, dtype, stream,
                [&](const TensorView& tensor) { fill(group, tensor, value, stream); });
}

Tensor ones(Group& group, const Shape& shape, Dtype dtype, Stream stream) {
  return full(group, shape, 1, dtype, stream);
}

void fill_arange(Group& group, const TensorView& tensor, double start, double step, Stream stream) {
  check_writable("fill_arange", tensor);
  check_arange("fill_arange", tensor.dtype(), tensor.numel(), start, step);
  launch(group, FillKind::arange, tensor, stream, start, step);
}

Tensor arange(Group& group, double start, double end, double step, Dtype dtype, Stream stream) {
  const std::int64_t count = length_of_arange(start, end, step);
  check_arange("arange", dtype, count, start, step);
  return filled("arange", group, Shape{count}, dtype, stream,
                [&](const TensorView& tensor) { fill_arange(group, tensor, start, step, stream); });
}

void fill_linspace(Group& group, const TensorView& tensor, double start, double end, Stream stream) {
  check_writable("fill_linspace", tensor);
  check_linspace("fill_linspace", tensor.dtype(), start, end);
  if (tensor.numel() == 1) return fill(group, tensor, start, stream);
  const auto intervals = static_cast<double>(tensor.numel() - 1);
  const double whole = end - start;
  // Where that is beyond the largest number, a part of each is not.
  const double step = std::isfinite(whole) ? whole / intervals : end / intervals - start / intervals;
  launch(group, FillKind::linspace, tensor, stream, start, end, step);
}

Tensor linspace(Group& group, double start, double end, std::int64_t count, Dtype dtype, Stream stream) {
  check_linspace("linspace", dtype, start, end);
  return filled("linspace", group, Shape{count}, dtype, stream,
                [&](const TensorView& tensor) { fill_linspace(group, tensor, start, end, stream); });
}

void fill_rand(Group& group, const TensorView& tensor, const Seed& seed, Stream stream) {
  fill_random("fill_rand", FillKind::uniform, group, tensor, seed, stream);
}

Tensor rand(Group& group, const Shape& shape, Dtype dtype, const Seed& seed, Stream stream) {
  return random("rand", FillKind::uniform, group, shape, dtype, seed, stream);
}

void fill_randn(Group& group, const TensorView& tensor, const Seed& seed, Stream stream) {
  fill_random("fill_randn", FillKind::normal, group, tensor, seed, stream);
}

Tensor randn(Group& group, const Shape& shape, Dtype dtype, const Seed& seed, Stream stream) {
  return random("randn", FillKind::normal, group, shape, dtype, seed, stream);
}

void fill_randint(Group& group, const TensorView& tensor, std::int64_t low, std::int64_t high, const Seed& seed,
                  Stream stream) {
  check_writable("fill_randint", tensor);
  check_integers("fill_randint", tensor.dtype(), low, high);
  launch(group, FillKind::integers, tensor, stream, low, static_cast<std::uint64_t>(high - low), seed.seed,
         static_cast<std::uint64_t>(seed.sequence));
}

Tensor randint(Group& group, const Shape& shape, std::int64_t low, std::int64_t high, Dtype dtype, const Seed& seed,
               Stream stream) {
  check_integers("randint", dtype, low, high);
  return filled("randint", group, shape, dtype, stream,
                [&](const TensorView& tensor) { fill_randint(group, tensor, low, high, seed, stream); });
}

}  // namespace iris
