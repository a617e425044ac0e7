#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>

#include "iris/dtype.hpp"

// Elements of these are their bits; iris/device/numeric.hpp defines them.
namespace iris::device {
struct Float16;
struct BFloat16;
struct Float8E4M3;
}  // namespace iris::device

namespace iris {

/// One number for each dimension of a tensor, the outermost first: lengths, or strides. At most max_dimensions of them.
class Shape {
 public:
  static constexpr std::size_t max_dimensions = 8;

  Shape() = default;
  /// Throw std::invalid_argument for too many dimensions.
  Shape(std::initializer_list<std::int64_t> lengths) : Shape(std::span(lengths.begin(), lengths.size())) {}
  explicit Shape(std::span<const std::int64_t> lengths);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](std::size_t dimension) const { return lengths_[dimension]; }
  std::int64_t& operator[](std::size_t dimension) { return lengths_[dimension]; }
  const std::int64_t* begin() const { return lengths_.data(); }
  const std::int64_t* end() const { return lengths_.data() + size_; }

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<std::int64_t, max_dimensions> lengths_{};
  std::size_t size_ = 0;
};

/// `(4, 8)`, `()`.
std::string to_string(const Shape& shape);

/// The dtype of elements of this C++ type.
template <typename T>
struct DtypeOf;
template <>
struct DtypeOf<double> : std::integral_constant<Dtype, Dtype::f64> {};
template <>
struct DtypeOf<float> : std::integral_constant<Dtype, Dtype::f32> {};
template <>
struct DtypeOf<device::Float16> : std::integral_constant<Dtype, Dtype::f16> {};
template <>
struct DtypeOf<device::BFloat16> : std::integral_constant<Dtype, Dtype::bf16> {};
template <>
struct DtypeOf<device::Float8E4M3> : std::integral_constant<Dtype, Dtype::e4m3> {};
template <>
struct DtypeOf<std::int32_t> : std::integral_constant<Dtype, Dtype::i32> {};

/// A tensor as somebody who does not own it sees it: where its elements lie, of what type they are, and how many there
/// are along each dimension. What a launch is given instead of a bare pointer, so that it can check all of that. The
/// type is one of run time, as it is in manifests and in DLPack; pointers of launchers have static types already.
class TensorView {
 public:
  /// Row-major, without gaps.
  TensorView(void* data, Dtype dtype, const Shape& shape);
  /// The same, not to be written.
  TensorView(const void* data, Dtype dtype, const Shape& shape);
  /// `strides`: how many elements apart neighbours along each dimension are.
  TensorView(void* data, Dtype dtype, const Shape& shape, const Shape& strides);
  TensorView(const void* data, Dtype dtype, const Shape& shape, const Shape& strides);
  // All of them throw std::invalid_argument, in words, if a length is negative, if there are not as many strides as
  // lengths, if the elements are more than 2^62 bytes or by their strides further apart than that, if there are some
  // but no data, or if the data is not aligned to an element.

  /// The same, of the dtype of `T`; not to be written if `T` is const.
  template <typename T>
    requires(!std::is_void_v<T>)
  TensorView(T* data, const Shape& shape) : TensorView(data, DtypeOf<std::remove_const_t<T>>::value, shape) {}
  template <typename T>
    requires(!std::is_void_v<T>)
  TensorView(T* data, const Shape& shape, const Shape& strides)
      : TensorView(data, DtypeOf<std::remove_const_t<T>>::value, shape, strides) {}

  /// Of the first element. It is not written through this if is_read_only().
  void* data() const { return data_; }
  /// Throws std::invalid_argument if that is not the type, or would allow to write what is read-only.
  template <typename T>
  T* data() const {
    require(DtypeOf<std::remove_const_t<T>>::value, !std::is_const_v<T>);
    return static_cast<T*>(data_);
  }
  /// As it lies in memory: f32 for tf32.
  Dtype dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  bool is_read_only() const { return read_only_; }

  /// Elements.
  std::int64_t numel() const { return numel_; }
  /// Of all elements, gaps not counted.
  std::int64_t bytes() const { return numel_ * bytes_of(dtype_); }
  /// Whether the elements lie one after another, row-major. The strides of dimensions of one element say nothing, nor
  /// do any where there are no elements.
  bool is_contiguous() const;

  /// The same elements, in the same order, in other dimensions; one of them may be -1: what is left. Throws
  /// std::invalid_argument if the numbers of elements differ, or if this is not contiguous.
  TensorView reshape(const Shape& shape) const;
  /// Those [begin, end) along the first dimension. Throws std::invalid_argument if there are none such.
  TensorView slice(std::int64_t begin, std::int64_t end) const;

 private:
  TensorView(void* data, Dtype dtype, const Shape& shape, const Shape& strides, bool read_only);
  void require(Dtype dtype, bool writable) const;

  void* data_;
  Dtype dtype_;
  bool read_only_;
  Shape shape_;
  Shape strides_;
  std::int64_t numel_ = 1;
};

/// `f32 (4, 8)`, with strides where there are gaps: `f32 (4, 8) with strides (16, 1)`.
std::string to_string(const TensorView& tensor);

/// The strides of elements that lie one after another, row-major; zeros where there are none. Throws
/// std::invalid_argument where a stride is beyond 64 bits.
Shape contiguous_strides(const Shape& shape);

}  // namespace iris
