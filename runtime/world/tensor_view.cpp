#include "iris/tensor_view.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace iris {

namespace {

constexpr std::int64_t max_bytes = std::int64_t{1} << 62;

std::invalid_argument error_of(Dtype dtype, const Shape& shape, const std::string& what) {
  return std::invalid_argument("a tensor of " + std::string(to_string(dtype)) + " " + to_string(shape) + " " + what);
}

/// Throws if they are more than max_bytes.
std::int64_t count_elements(Dtype dtype, const Shape& shape) {
  if (std::ranges::any_of(shape, [](std::int64_t length) { return length < 0; })) {
    throw error_of(dtype, shape, "has a negative length");
  }
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::int64_t bytes = bytes_of(dtype);
  for (const std::int64_t length : shape) {
    if (__builtin_mul_overflow(bytes, length, &bytes) || bytes > max_bytes) {
      throw error_of(dtype, shape, "has more than 2^62 bytes");
    }
  }
  return bytes / bytes_of(dtype);
}

/// Throws if the outermost elements are more than max_bytes apart, so that no place of one is beyond what can be
/// counted.
void check_strides(Dtype dtype, const Shape& shape, const Shape& strides) {
  std::int64_t distance = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t along = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &along) ||
        __builtin_mul_overflow(along, along < 0 ? -bytes_of(dtype) : bytes_of(dtype), &along) ||
        __builtin_add_overflow(distance, along, &distance) || distance > max_bytes) {
      throw error_of(dtype, shape, "has elements more than 2^62 bytes apart, by its strides " + to_string(strides));
    }
  }
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> lengths) : size_(lengths.size()) {
  if (lengths.size() > max_dimensions) {
    throw std::invalid_argument("a tensor has " + std::to_string(max_dimensions) + " dimensions at most, not " +
                                std::to_string(lengths.size()));
  }
  std::ranges::copy(lengths, lengths_.begin());
}

bool operator==(const Shape& a, const Shape& b) {
  return std::ranges::equal(a, b);
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (const std::int64_t length : shape) text.append(text.size() > 1 ? ", " : "").append(std::to_string(length));
  return text + ")";
}

Shape contiguous_strides(const Shape& shape) {
  if (std::ranges::find(shape, 0) != shape.end()) return Shape(std::vector<std::int64_t>(shape.size()));
  Shape strides = shape;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    if (i > 0 && __builtin_mul_overflow(stride, std::max<std::int64_t>(shape[i], 1), &stride)) {
      throw std::invalid_argument("elements of shape " + to_string(shape) + " are more than can be counted");
    }
  }
  return strides;
}

TensorView::TensorView(void* data, Dtype dtype, const Shape& shape, const Shape& strides, bool read_only)
    : data_(data),
      dtype_(stored_dtype(dtype)),
      read_only_(read_only),
      shape_(shape),
      strides_(strides),
      numel_(count_elements(dtype, shape)) {
  if (strides.size() != shape.size()) {
    throw error_of(dtype, shape, "takes one stride for each dimension, not " + to_string(strides));
  }
  if (numel_ == 0) return;
  check_strides(dtype_, shape, strides);
  if (data == nullptr) throw error_of(dtype, shape, "has no data: the pointer is null");
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes_of(dtype)) != 0) {
    throw error_of(dtype, shape, "does not begin at a multiple of " + std::to_string(bytes_of(dtype)) + " bytes");
  }
}

namespace {

/// Of lengths that are checked first.
Shape strides_without_gaps(Dtype dtype, const Shape& shape) {
  count_elements(dtype, shape);
  return contiguous_strides(shape);
}

}  // namespace

TensorView::TensorView(void* data, Dtype dtype, const Shape& shape)
    : TensorView(data, dtype, shape, strides_without_gaps(dtype, shape), false) {}
TensorView::TensorView(const void* data, Dtype dtype, const Shape& shape)
    : TensorView(const_cast<void*>(data), dtype, shape, strides_without_gaps(dtype, shape), true) {}
TensorView::TensorView(void* data, Dtype dtype, const Shape& shape, const Shape& strides)
    : TensorView(data, dtype, shape, strides, false) {}
TensorView::TensorView(const void* data, Dtype dtype, const Shape& shape, const Shape& strides)
    : TensorView(const_cast<void*>(data), dtype, shape, strides, true) {}

void TensorView::require(Dtype dtype, bool writable) const {
  if (dtype != dtype_) throw error_of(dtype_, shape_, "is asked for elements of " + std::string(to_string(dtype)));
  if (writable && read_only_) throw error_of(dtype_, shape_, "is read-only, and is asked for elements to write");
}

bool TensorView::is_contiguous() const {
  if (numel_ == 0) return true;
  const Shape expected = contiguous_strides(shape_);
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    if (shape_[i] != 1 && strides_[i] != expected[i]) return false;
  }
  return true;
}

TensorView TensorView::reshape(const Shape& shape) const {
  const auto refuse = [&](const std::string& why) {
    return std::invalid_argument("a tensor of " + to_string(*this) + " cannot be reshaped to " + to_string(shape) +
                                 ": " + why);
  };
  if (!is_contiguous()) throw refuse("its elements do not lie one after another");
  Shape whole = shape;
  if (const auto left = std::ranges::count(shape, -1); left > 0) {
    std::int64_t others = 1;
    for (const std::int64_t length : shape) {
      if (length != -1 && __builtin_mul_overflow(others, length, &others)) throw refuse("it is too long");
    }
    if (left > 1 || others <= 0 || numel_ % others != 0) throw refuse("there is no one length for -1");
    whole[static_cast<std::size_t>(std::ranges::find(shape, -1) - shape.begin())] = numel_ / others;
  }
  const TensorView reshaped(data_, dtype_, whole, strides_without_gaps(dtype_, whole), read_only_);
  if (reshaped.numel_ != numel_) throw refuse("that has " + std::to_string(reshaped.numel_) + " elements");
  return reshaped;
}

TensorView TensorView::slice(std::int64_t begin, std::int64_t end) const {
  if (shape_.empty() || begin < 0 || end < begin || end > shape_[0]) {
    throw std::invalid_argument("a tensor of " + to_string(*this) + " has no elements [" + std::to_string(begin) +
                                ", " + std::to_string(end) + ") along its first dimension");
  }
  Shape shape = shape_;
  shape[0] = end - begin;
  const bool has_elements =
      numel_ > 0 && begin < end;  // one behind the last would be at a place that nobody has checked
  char* const first = static_cast<char*>(data_) + (has_elements ? begin * strides_[0] * bytes_of(dtype_) : 0);
  return {first, dtype_, shape, strides_, read_only_};
}

std::string to_string(const TensorView& tensor) {
  std::string text = std::string(to_string(tensor.dtype())) + " " + to_string(tensor.shape());
  if (!tensor.is_contiguous()) text += " with strides " + to_string(tensor.strides());
  return text;
}

}  // namespace iris
