#include "iris/dlpack.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "runtime/world/dlpack_abi.hpp"

namespace iris {

namespace {

std::invalid_argument error_of(const std::string& what) {
  return std::invalid_argument("a tensor of DLPack " + what);
}

struct TypeRow {
  Dtype dtype;
  std::uint8_t code;
  std::uint8_t bits;
};
constexpr std::array types = {
    TypeRow{Dtype::f64, dlpack::ieee_float, 64},    TypeRow{Dtype::f32, dlpack::ieee_float, 32},
    TypeRow{Dtype::f16, dlpack::ieee_float, 16},    TypeRow{Dtype::bf16, dlpack::bfloat, 16},
    TypeRow{Dtype::e4m3, dlpack::float8_e4m3fn, 8}, TypeRow{Dtype::i32, dlpack::signed_integer, 32},
};
static_assert(types.size() == all_dtypes.size() - 1, "no tensor is of tf32, which is f32 in memory");

Dtype dtype_of(const dlpack::DataType& type) {
  if (type.lanes != 1) throw error_of("has elements of " + std::to_string(type.lanes) + " lanes, irisgen's have one");
  for (const TypeRow& row : types) {
    if (row.code == type.code && row.bits == type.bits) return row.dtype;
  }
  std::string known;
  for (const TypeRow& row : types) known.append(known.empty() ? "" : ", ").append(to_string(row.dtype));
  throw error_of("has elements of type code " + std::to_string(type.code) + " with " + std::to_string(type.bits) +
                 " bits, which irisgen has not; it has " + known);
}

dlpack::DataType type_of(Dtype dtype) {
  const auto* const row = std::ranges::find(types, dtype, &TypeRow::dtype);
  return {.code = row->code, .bits = row->bits, .lanes = 1};
}

struct DeviceRow {
  DlpackDevice::Kind kind;
  std::string_view name;
};
constexpr std::array devices = {
    DeviceRow{DlpackDevice::Kind::cpu, "cpu"},
    DeviceRow{DlpackDevice::Kind::cuda, "cuda"},
    DeviceRow{DlpackDevice::Kind::cuda_host, "cuda_host"},
    DeviceRow{DlpackDevice::Kind::rocm, "rocm"},
    DeviceRow{DlpackDevice::Kind::rocm_host, "rocm_host"},
    DeviceRow{DlpackDevice::Kind::cuda_managed, "cuda_managed"},
};

DlpackDevice device_of(const dlpack::Tensor& tensor) {
  using Kind = DlpackDevice::Kind;
  const auto& [type, id] = tensor.device;
  for (const DeviceRow& row : devices) {
    if (static_cast<std::int32_t>(row.kind) != type) continue;
    // Producers number memory of the host as they like, by a node or by the GPU that it is pinned for.
    const bool is_of_host = row.kind == Kind::cpu || row.kind == Kind::cuda_host || row.kind == Kind::rocm_host;
    return {row.kind, is_of_host ? 0 : id};
  }
  throw error_of("lies on a device of kind " + std::to_string(type) +
                 ", which irisgen does not know; it knows the CPU, CUDA's and ROCm's");
}

TensorView view_of(const dlpack::Tensor& tensor, bool read_only) {
  const Dtype dtype = dtype_of(tensor.dtype);
  if (tensor.ndim < 0 || static_cast<std::size_t>(tensor.ndim) > Shape::max_dimensions) {
    throw error_of("has " + std::to_string(tensor.ndim) + " dimensions; irisgen's have " +
                   std::to_string(Shape::max_dimensions) + " at most");
  }
  const auto count = static_cast<std::size_t>(tensor.ndim);
  if (count > 0 && tensor.shape == nullptr) throw error_of("has no shape: the pointer is null");
  const Shape shape(std::span(tensor.shape, count));
  void* const data = tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
  const void* const constant = data;
  if (tensor.strides == nullptr) {
    return read_only ? TensorView(constant, dtype, shape) : TensorView(data, dtype, shape);
  }
  const Shape strides(std::span(tensor.strides, count));
  return read_only ? TensorView(constant, dtype, shape, strides) : TensorView(data, dtype, shape, strides);
}

/// Ours, of one struct or the other.
template <typename DlManaged>
struct Layout;
template <>
struct Layout<DLManagedTensor> : std::type_identity<dlpack::Managed> {};
template <>
struct Layout<DLManagedTensorVersioned> : std::type_identity<dlpack::ManagedVersioned> {};

template <typename DlManaged>
Layout<DlManaged>::type& layout_of(DlManaged* tensor) {
  return *reinterpret_cast<Layout<DlManaged>::type*>(tensor);
}

/// What calls the deleter when it ends. Throws, having called it, if no more of the struct can be understood.
template <typename DlManaged>
std::shared_ptr<void> own(DlManaged* tensor) {
  if (tensor == nullptr) throw error_of("is expected, and the pointer is null");
  std::shared_ptr<void> owner(tensor, [](DlManaged* owned) {
    if (const auto deleter = layout_of(owned).deleter) deleter(owned);
  });
  if constexpr (std::is_same_v<DlManaged, DLManagedTensorVersioned>) {
    const auto [major, minor] = layout_of(tensor).version;
    if (major != dlpack::version.major) {
      throw error_of("has version " + std::to_string(major) + "." + std::to_string(minor) +
                     " of its structs; irisgen knows version " + std::to_string(dlpack::version.major));
    }
  }
  return owner;
}

/// A struct that we have made, and what it points to.
template <typename DlManaged>
struct Exported {
  Shape shape;
  Shape strides;
  std::shared_ptr<void> owner;
  Layout<DlManaged>::type managed;
};

template <typename DlManaged>
DlManaged* exported(const TensorView& tensor, const DlpackDevice& device, std::shared_ptr<void> owner) {
  auto made = std::make_unique<Exported<DlManaged>>();
  made->shape = tensor.shape();
  made->strides = tensor.strides();
  made->owner = std::move(owner);
  made->managed.tensor = {.data = tensor.numel() > 0 ? tensor.data() : nullptr,
                          .device = {static_cast<std::int32_t>(device.kind), device.index},
                          .ndim = static_cast<std::int32_t>(tensor.shape().size()),
                          .dtype = type_of(tensor.dtype()),
                          .shape = &made->shape[0],
                          .strides = &made->strides[0],
                          .byte_offset = 0};
  made->managed.manager = made.get();
  made->managed.deleter = [](DlManaged* self) { delete static_cast<Exported<DlManaged>*>(layout_of(self).manager); };
  if constexpr (std::is_same_v<DlManaged, DLManagedTensorVersioned>) {
    made->managed.version = dlpack::version;
    made->managed.flags = tensor.is_read_only() ? dlpack::read_only_flag : 0;
  } else if (tensor.is_read_only()) {
    throw std::invalid_argument("a tensor of " + to_string(tensor) +
                                " is read-only, which the struct of DLPack without a version cannot say; take "
                                "to_dlpack");
  }
  return reinterpret_cast<DlManaged*>(&made.release()->managed);
}

template <typename DlManaged>
DlManaged* exported(Tensor tensor) {
  const auto owner = std::make_shared<Tensor>(std::move(tensor));
  Group group = owner->group();
  return exported<DlManaged>(owner->view(), dlpack_device(group), owner);
}

}  // namespace

std::string to_string(const DlpackDevice& device) {
  using Kind = DlpackDevice::Kind;
  const auto* const row = std::ranges::find(devices, device.kind, &DeviceRow::kind);
  std::string text(row == devices.end() ? "unknown" : row->name);
  if (device.kind == Kind::cuda || device.kind == Kind::rocm) text += ":" + std::to_string(device.index);
  return text;
}

DlpackDevice dlpack_device(Group& group) {
  using Kind = DlpackDevice::Kind;
  const std::string target = group.device().target();
  if (target == "host") return {Kind::cpu, 0};
  return {target.starts_with("gfx") ? Kind::rocm : Kind::cuda, group.device().index()};
}

DlpackTensor::DlpackTensor(std::shared_ptr<void> owner, const TensorView& view, const DlpackDevice& device)
    : owner_(std::move(owner)), view_(view), device_(device) {}

// In braces, so that the owner is there before what may throw.
DlpackTensor::DlpackTensor(DLManagedTensorVersioned* tensor)
    : DlpackTensor{own(tensor),
                   view_of(layout_of(tensor).tensor, (layout_of(tensor).flags & dlpack::read_only_flag) != 0),
                   device_of(layout_of(tensor).tensor)} {}
DlpackTensor::DlpackTensor(DLManagedTensor* tensor)
    : DlpackTensor{own(tensor), view_of(layout_of(tensor).tensor, false), device_of(layout_of(tensor).tensor)} {}

void DlpackTensor::require_on(Group& group) const {
  using Kind = DlpackDevice::Kind;
  const DlpackDevice own = dlpack_device(group);
  const auto is_one_of = [this](std::initializer_list<Kind> kinds) {
    return std::ranges::find(kinds, device_.kind) != kinds.end();
  };
  const bool addressed = device_ == own ||
                         (own.kind == Kind::cuda && is_one_of({Kind::cuda_host, Kind::cuda_managed})) ||
                         (own.kind == Kind::rocm && is_one_of({Kind::rocm_host})) ||
                         (own.kind == Kind::cpu && is_one_of({Kind::cuda_host, Kind::rocm_host, Kind::cuda_managed}));
  if (addressed) return;
  throw error_of("is " + to_string(view_) + " on " + to_string(device_) + ", and this rank computes on " +
                 to_string(own));
}

DLManagedTensorVersioned* to_dlpack(Tensor tensor) {
  return exported<DLManagedTensorVersioned>(std::move(tensor));
}

DLManagedTensorVersioned* to_dlpack(const TensorView& tensor, const DlpackDevice& device, std::shared_ptr<void> owner) {
  return exported<DLManagedTensorVersioned>(tensor, device, std::move(owner));
}

DLManagedTensor* to_dlpack_unversioned(Tensor tensor) {
  return exported<DLManagedTensor>(std::move(tensor));
}

DLManagedTensor* to_dlpack_unversioned(const TensorView& tensor, const DlpackDevice& device,
                                       std::shared_ptr<void> owner) {
  return exported<DLManagedTensor>(tensor, device, std::move(owner));
}

}  // namespace iris
