#pragma once

#include <memory>
#include <string>

#include "iris/tensor.hpp"
#include "iris/tensor_view.hpp"

// Of dlpack/dlpack.h, which whoever looks into them includes.
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/// Tensors of other libraries, and ours for them, without copying: the C structs of DLPack 1 (dmlc.github.io/dlpack),
/// both those with a version and the older ones without.
///
/// What comes in is not on the symmetric heap. Operations that ask for symmetric memory take it once every rank has had
/// its own adopted: `group.as_symmetric(imported.view().data(), imported.view().bytes())`.
namespace iris {

/// Where a tensor lies, as DLPack says it.
struct DlpackDevice {
  enum class Kind { cpu = 1, cuda = 2, cuda_host = 3, rocm = 10, rocm_host = 11, cuda_managed = 13 };
  Kind kind = Kind::cpu;
  int index = 0;  ///< of the GPU, as this process counts them; 0 for memory of the host
  bool operator==(const DlpackDevice&) const = default;
};
/// `cuda:1`, `cpu`.
std::string to_string(const DlpackDevice& device);
/// Where a rank's own tensors lie.
DlpackDevice dlpack_device(Group& group);

/// A tensor of another library, which is kept until the last copy of this ends. Nothing in DLPack's structs orders
/// work: the caller waits for the producer's before the tensor is used here, or has both in one stream, and for
/// launches and fills on it before the last copy ends.
class DlpackTensor {
 public:
  /// Take it over: its deleter is called once, when the last copy of this ends, or before they throw. They throw
  /// std::invalid_argument, in words, for a tensor of another major version, of a type that irisgen has not or of
  /// several lanes, on a device of another kind, of too many dimensions, or that TensorView refuses. Null is refused,
  /// too. What is marked read-only is so in the view.
  explicit DlpackTensor(DLManagedTensorVersioned* tensor);
  explicit DlpackTensor(DLManagedTensor* tensor);

  const TensorView& view() const { return view_; }
  operator const TensorView&() const { return view_; }
  const TensorView* operator->() const { return &view_; }
  const DlpackDevice& device() const { return device_; }
  /// Throws std::invalid_argument if the group's device cannot address it, being another one: a GPU addresses its own
  /// memory, what is managed, and what is pinned on the host; the CPU memory of the host.
  void require_on(Group& group) const;

 private:
  DlpackTensor(std::shared_ptr<void> owner, const TensorView& view, const DlpackDevice& device);

  std::shared_ptr<void> owner_;  // calls the deleter
  TensorView view_;
  DlpackDevice device_;
};

/// Ours for another library, which calls its deleter once; until then it keeps the tensor, and so the World. The
/// deleter is called as the Tensor would end: by the rank's own thread or when its body is over, and on every member of
/// the group alike. Work under way on the tensor is the caller's to wait for.
DLManagedTensorVersioned* to_dlpack(Tensor tensor);
/// Of memory that `owner` keeps, or that outlives it if that is null.
DLManagedTensorVersioned* to_dlpack(const TensorView& tensor, const DlpackDevice& device,
                                    std::shared_ptr<void> owner = nullptr);

/// The same for those who know the older struct alone. That has no mark for what is read-only: throws
/// std::invalid_argument for such a tensor.
DLManagedTensor* to_dlpack_unversioned(Tensor tensor);
DLManagedTensor* to_dlpack_unversioned(const TensorView& tensor, const DlpackDevice& device,
                                       std::shared_ptr<void> owner = nullptr);

}  // namespace iris
