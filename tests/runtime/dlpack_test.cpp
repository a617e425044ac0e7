// Tensors of other libraries, and ours for them, through the C structs of DLPack.

#include "iris/dlpack.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "error_words.hpp"
#include "iris/world.hpp"
#include "runtime/world/dlpack_abi.hpp"

namespace iris::dlpack_test {
namespace {

using test::error_of;
using test::expect_part;
using Kind = DlpackDevice::Kind;

/// A tensor of another library, whose deleter counts its calls. Its elements are where `memory` says.
template <typename DlManaged, typename Struct>
struct Foreign {
  std::array<float, 64> memory{};
  std::array<std::int64_t, 9> shape{2, 3};
  std::array<std::int64_t, 9> strides{3, 1};
  int deleted = 0;
  Struct managed{};

  Foreign() {
    managed.tensor = {.data = memory.data(),
                      .device = {dlpack::cpu, 0},
                      .ndim = 2,
                      .dtype = {.code = 2, .bits = 32, .lanes = 1},
                      .shape = shape.data(),
                      .strides = strides.data(),
                      .byte_offset = 0};
    managed.manager = this;
    managed.deleter = [](DlManaged* self) {
      ++static_cast<Foreign*>(reinterpret_cast<Struct*>(self)->manager)->deleted;
    };
    if constexpr (std::is_same_v<Struct, dlpack::ManagedVersioned>) managed.version = {.major = 1, .minor = 0};
  }
  DlManaged* pointer() { return reinterpret_cast<DlManaged*>(&managed); }
};
using ForeignVersioned = Foreign<DLManagedTensorVersioned, dlpack::ManagedVersioned>;
using ForeignUnversioned = Foreign<DLManagedTensor, dlpack::Managed>;

/// Why it is refused once changed; its deleter is called even so.
std::string refusal(const std::function<void(ForeignVersioned&)>& change) {
  ForeignVersioned foreign;
  change(foreign);
  std::string words = error_of([&] { const DlpackTensor tensor(foreign.pointer()); });
  EXPECT_EQ(foreign.deleted, 1);
  return words;
}

TEST(DlpackImport, SeesTheElementsWhereTheyAre) {
  ForeignVersioned foreign;
  foreign.managed.tensor.byte_offset = 8;
  foreign.strides = {8, 2};
  {
    const DlpackTensor tensor(foreign.pointer());
    EXPECT_EQ(tensor->data(), foreign.memory.data() + 2);
    EXPECT_EQ(to_string(tensor.view()), "f32 (2, 3) with strides (8, 2)");
    EXPECT_EQ(tensor.device(), (DlpackDevice{Kind::cpu, 0}));
    EXPECT_FALSE(tensor->is_read_only());
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
}

TEST(DlpackImport, CallsTheDeleterOnceForAllCopies) {
  ForeignUnversioned foreign;
  {
    DlpackTensor first(foreign.pointer());
    const DlpackTensor second = first;
    const DlpackTensor third = std::move(first);
    EXPECT_EQ(second->data(), third->data());
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
  foreign.managed.deleter = nullptr;  // there is nothing to delete
  EXPECT_EQ(error_of([&] { const DlpackTensor tensor(foreign.pointer()); }), "");
}

TEST(DlpackImport, TakesMissingStridesAsRowMajor) {
  ForeignUnversioned foreign;
  foreign.managed.tensor.strides = nullptr;
  EXPECT_EQ(DlpackTensor(foreign.pointer())->strides(), (Shape{3, 1}));
  foreign.managed.tensor.ndim = 0;
  foreign.managed.tensor.shape = nullptr;
  EXPECT_EQ(DlpackTensor(foreign.pointer())->numel(), 1);
}

TEST(DlpackImport, NumbersGpusAndNotTheHost) {
  const auto device_of = [](std::int32_t type) {
    ForeignVersioned foreign;
    foreign.managed.tensor.device = {type, 3};
    return DlpackTensor(foreign.pointer()).device();
  };
  for (const Kind host : {Kind::cpu, Kind::cuda_host, Kind::rocm_host}) {
    EXPECT_EQ(device_of(static_cast<std::int32_t>(host)), (DlpackDevice{host, 0}));
  }
  for (const Kind gpu : {Kind::cuda, Kind::rocm, Kind::cuda_managed}) {
    EXPECT_EQ(device_of(static_cast<std::int32_t>(gpu)), (DlpackDevice{gpu, 3}));
  }
}

TEST(DlpackImport, HonoursTheFlagOfWhatIsReadOnly) {
  ForeignVersioned foreign;
  foreign.managed.flags = 1;
  EXPECT_TRUE(DlpackTensor(foreign.pointer())->is_read_only());
  foreign.managed.flags = 2;  // a copy that the producer has made
  EXPECT_FALSE(DlpackTensor(foreign.pointer())->is_read_only());
}

struct TypeCase {
  Dtype dtype;
  std::uint8_t code;  ///< as the specification numbers them
  std::uint8_t bits;
};
constexpr std::array type_cases = {TypeCase{Dtype::f64, 2, 64},  TypeCase{Dtype::f32, 2, 32},
                                   TypeCase{Dtype::f16, 2, 16},  TypeCase{Dtype::bf16, 4, 16},
                                   TypeCase{Dtype::e4m3, 10, 8}, TypeCase{Dtype::i32, 0, 32}};

TEST(Dlpack, MapsEveryTypeBothWays) {
  for (const TypeCase& each : type_cases) {
    ForeignVersioned foreign;
    foreign.managed.tensor.dtype = {.code = each.code, .bits = each.bits, .lanes = 1};
    const DlpackTensor tensor(foreign.pointer());
    EXPECT_EQ(tensor->dtype(), each.dtype);
    DLManagedTensorVersioned* const out = to_dlpack(tensor.view(), tensor.device());
    auto& managed = *reinterpret_cast<dlpack::ManagedVersioned*>(out);
    EXPECT_EQ(managed.tensor.dtype.code, each.code);
    EXPECT_EQ(managed.tensor.dtype.bits, each.bits);
    EXPECT_EQ(managed.tensor.dtype.lanes, 1);
    managed.deleter(out);
  }
}

TEST(DlpackImport, RefusesWhatIrisgenHasNot) {
  expect_part(refusal([](auto& foreign) { foreign.managed.version.major = 2; }),
              "has version 2.0 of its structs; irisgen knows version 1");
  expect_part(refusal([](auto& foreign) { foreign.managed.tensor.dtype.lanes = 4; }), "has elements of 4 lanes");
  expect_part(refusal([](auto& foreign) { foreign.managed.tensor.dtype.code = 5; }),
              "elements of type code 5 with 32 bits, which irisgen has not; it has f64, f32, f16, bf16, e4m3, i32");
  expect_part(refusal([](auto& foreign) { foreign.managed.tensor.device.type = 8; }), "on a device of kind 8");
  expect_part(refusal([](auto& foreign) { foreign.managed.tensor.ndim = 9; }), "has 9 dimensions");
  expect_part(refusal([](auto& foreign) { foreign.managed.tensor.ndim = -1; }), "has -1 dimensions");
  expect_part(refusal([](auto& foreign) { foreign.managed.tensor.shape = nullptr; }), "has no shape");
  expect_part(refusal([](auto& foreign) { foreign.shape[0] = -2; }), "has a negative length");
  expect_part(refusal([](auto& foreign) { foreign.managed.tensor.data = nullptr; }), "the pointer is null");
  expect_part(refusal([](auto& foreign) { foreign.managed.tensor.byte_offset = 2; }), "multiple of 4 bytes");
  expect_part(error_of([] { const DlpackTensor tensor(static_cast<DLManagedTensor*>(nullptr)); }),
              "a tensor of DLPack is expected, and the pointer is null");
}

TEST(DlpackExport, KeepsTheOwnerUntilItsDeleterIsCalled) {
  const auto owner = std::make_shared<std::vector<std::int32_t>>(100);
  const TensorView view(owner->data(), {4, 5}, {20, 1});
  DLManagedTensorVersioned* const out = to_dlpack(view, {Kind::cuda, 3}, owner);
  const auto& managed = *reinterpret_cast<dlpack::ManagedVersioned*>(out);
  EXPECT_EQ(managed.version.major, 1U);
  EXPECT_EQ(managed.flags, 0U);
  EXPECT_EQ(managed.tensor.data, owner->data());
  EXPECT_EQ(managed.tensor.device.type, 2);
  EXPECT_EQ(managed.tensor.device.id, 3);
  EXPECT_EQ(managed.tensor.ndim, 2);
  EXPECT_EQ(managed.tensor.shape[0], 4);
  EXPECT_EQ(managed.tensor.shape[1], 5);
  EXPECT_EQ(managed.tensor.strides[0], 20);
  EXPECT_EQ(managed.tensor.strides[1], 1);
  EXPECT_EQ(managed.tensor.byte_offset, 0U);
  EXPECT_EQ(owner.use_count(), 2);
  managed.deleter(out);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(DlpackExport, SaysWhatIsReadOnlyWhereItCan) {
  const std::array<float, 4> constant{};
  const TensorView view(constant.data(), {4});
  DLManagedTensorVersioned* const out = to_dlpack(view, {});
  EXPECT_EQ(reinterpret_cast<dlpack::ManagedVersioned*>(out)->flags, 1U);
  EXPECT_TRUE(DlpackTensor(out)->is_read_only());
  expect_part(error_of([&] { to_dlpack_unversioned(view, {}); }),
              "a tensor of f32 (4) is read-only, which the struct of DLPack without a version cannot say");
}

TEST(DlpackExport, HasNoDataWhereThereAreNoElements) {
  std::array<float, 4> memory{};
  DLManagedTensor* const out = to_dlpack_unversioned(TensorView(memory.data(), {0, 3}), {});
  EXPECT_EQ(reinterpret_cast<dlpack::Managed*>(out)->tensor.data, nullptr);
  EXPECT_EQ(DlpackTensor(out)->shape(), (Shape{0, 3}));
}

TEST(DlpackExport, GivesATensorOfTheHeapBackWhenItIsDeleted) {
  World world({.size = 2, .heap_bytes = 4096, .heap_limit = 4096});
  world.run([](Context& context) {
    Tensor tensor = zeros(context, {512}, Dtype::f64);
    void* const data = tensor->data();
    DLManagedTensorVersioned* const out = to_dlpack(std::move(tensor));
    expect_part(error_of([&] { tensor.view(); }), "this Tensor was moved from");
    expect_part(error_of([&] { empty(context, {1}); }), "does not fit on the symmetric heap");
    {
      const DlpackTensor in(out);
      EXPECT_EQ(in->data(), data);
      in.require_on(context);
    }
    EXPECT_EQ(empty(context, {512}, Dtype::f64)->data(), data);
  });
}

TEST(DlpackDevice, IsThatOfTheRankOrRefused) {
  World world({.size = 1, .heap_bytes = 4096});
  world.run([](Context& context) {
    EXPECT_EQ(dlpack_device(context), (DlpackDevice{Kind::cpu, 0}));
    ForeignVersioned foreign;
    for (const auto& [type, name] : {std::pair{2, "cuda:0"}, std::pair{10, "rocm:0"}}) {
      foreign.managed.tensor.device.type = type;
      expect_part(error_of([&] { DlpackTensor(foreign.pointer()).require_on(context); }),
                  std::string("is f32 (2, 3) on ") + name + ", and this rank computes on cpu");
    }
    for (const std::int32_t on_host : {1, 3, 11, 13}) {
      foreign.managed.tensor.device.type = on_host;
      EXPECT_EQ(error_of([&] { DlpackTensor(foreign.pointer()).require_on(context); }), "");
    }
  });
}

/// What comes in is adopted, and then as good as the heap's.
TEST(DlpackImport, IsAdoptedAsSymmetricMemory) {
  World world({.size = 2, .heap_bytes = 4096});
  world.run([](Context& context) {
    ForeignVersioned foreign;
    const DlpackTensor tensor(foreign.pointer());
    const auto bytes = static_cast<std::size_t>(tensor->bytes());
    EXPECT_FALSE(context.is_symmetric(tensor->data(), bytes));
    context.as_symmetric(tensor->data(), bytes);
    EXPECT_TRUE(context.is_symmetric(tensor->data(), bytes));
    auto* const of_other = static_cast<float*>(context.on_rank(tensor->data(), 1 - context.rank()));
    of_other[5] = static_cast<float>(context.rank() + 10);
    context.barrier();
    EXPECT_EQ(foreign.memory[5], static_cast<float>(11 - context.rank()));
    context.release_symmetric(tensor->data());
  });
}

}  // namespace
}  // namespace iris::dlpack_test
