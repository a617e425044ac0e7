#include "iris/tensor.hpp"

#include <exception>
#include <stdexcept>

#include "runtime/world/group.hpp"

namespace iris {

struct Tensor::State {
  State(const Group& of_group, const Shape& shape, Dtype dtype)
      : group(of_group), view(allocate(group, shape, dtype)) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Checked before any member waits for the others.
  static TensorView allocate(Group& group, const Shape& shape, Dtype dtype) {
    alignas(Heap::alignment) static char stand_in;  // for memory that is there only once all have asked for it
    const TensorView wanted(&stand_in, dtype, shape);
    return {group.allocate(static_cast<std::size_t>(wanted.bytes())), dtype, shape};
  }

  Group group;
  TensorView view;
};

Tensor::State::~State() {
  Context::State& context = group.state().context;
  // Each for itself: memory that something writes is nobody else's, and what failed before is waited for as well.
  context.defer_failure([&] {
    context.device.bind();  // we may be on another thread than the rank's, once World::run is over
    if (const std::exception_ptr failed = context.wait_for_all()) std::rethrow_exception(failed);
  });
  context.defer_failure([&] { group.free(view.data()); });
}

Tensor::Tensor(const Group& group, const Shape& shape, Dtype dtype)
    : state_(std::make_unique<State>(group, shape, dtype)) {}

Tensor::~Tensor() = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;

const TensorView& Tensor::view() const {
  if (state_ == nullptr) throw std::logic_error("this Tensor was moved from; use the one that it became");
  return state_->view;
}

Group Tensor::group() const {
  view();  // throws if there is none
  return state_->group;
}

Tensor empty(Group& group, const Shape& shape, Dtype dtype) {
  return {group, shape, dtype};
}

Tensor zeros(Group& group, const Shape& shape, Dtype dtype, Stream stream) {
  Tensor tensor(group, shape, dtype);
  group.state().fail_alike(group.state().call("zeros()"), [&] {
    group.device().fill(tensor->data(), 0, static_cast<std::size_t>(tensor->bytes()), stream);
  });
  return tensor;
}

Tensor empty_like(Group& group, const TensorView& other) {
  return empty(group, other.shape(), other.dtype());
}

Tensor zeros_like(Group& group, const TensorView& other, Stream stream) {
  return zeros(group, other.shape(), other.dtype(), stream);
}

}  // namespace iris
