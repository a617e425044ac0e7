#pragma once

#include <memory>

#include "iris/dtype.hpp"
#include "iris/group.hpp"
#include "iris/tensor_view.hpp"

namespace iris {

/// A tensor on the symmetric heap of a group, row-major and without gaps, which goes back there when this ends. Passed
/// to launches as the view that it converts to.
///
/// It ends as Group::free() says, in the same order on every member, and not while this rank captures a stream. Its end
/// waits for this rank's launches and fills; what they failed in is thrown by the next synchronize() of the same
/// World::run, and where there is none, logged. A Tensor keeps what it needs of its World, which may end before it.
class Tensor {
 public:
  /// empty() makes them, and what else fills them.
  Tensor(const Group& group, const Shape& shape, Dtype dtype);
  ~Tensor();
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(Tensor&&) noexcept;

  /// Of a tensor that was moved from: throws std::logic_error.
  const TensorView& view() const;
  operator const TensorView&() const { return view(); }
  /// Whose heap it lies on.
  Group group() const;
  /// `tensor->shape()`.
  const TensorView* operator->() const { return &view(); }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A tensor with whatever the memory holds. Collective, as Group::allocate() is: every member asks for the same. Throws
/// std::invalid_argument for a shape that no view can have, std::runtime_error when the heap has no room.
Tensor empty(Group& group, const Shape& shape, Dtype dtype = Dtype::f32);
/// Of zeros, when it returns; ordered in the stream. Collective: where one rank cannot, every one throws alike.
/// (`iris/fill.hpp` has the other values.)
Tensor zeros(Group& group, const Shape& shape, Dtype dtype = Dtype::f32, Stream stream = nullptr);
/// The same of another one's shape and dtype, wherever that lies.
Tensor empty_like(Group& group, const TensorView& other);
Tensor zeros_like(Group& group, const TensorView& other, Stream stream = nullptr);

}  // namespace iris
