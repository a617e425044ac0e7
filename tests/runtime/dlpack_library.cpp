// What dlpack_test.py hands tensors to, and takes them from.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>

#include "iris/dlpack.hpp"

namespace {

std::weak_ptr<std::array<float, 12>> given_out;
std::string words;

}  // namespace

extern "C" {

/// (3, 2) of the even ones of 0, 1, 2 … 11, with gaps, which live until the deleter is called.
DLManagedTensor* give() {
  auto memory = std::make_shared<std::array<float, 12>>();
  std::iota(memory->begin(), memory->end(), 0.0F);
  given_out = memory;
  const iris::TensorView view(memory->data(), {3, 2}, {4, 2});
  return iris::to_dlpack_unversioned(view, {}, memory);
}

int is_kept() {
  return given_out.expired() ? 0 : 1;
}

/// What it is, with its first and last element as f32 or i32; or why it is refused.
const char* take(DLManagedTensor* pointer) {
  try {
    const iris::DlpackTensor tensor(pointer);
    words = to_string(tensor.device()) + " " + to_string(tensor.view());
    if (tensor->dtype() == iris::Dtype::i32) {
      const auto* data = tensor->data<const std::int32_t>();
      words += " " + std::to_string(data[0]) + " " + std::to_string(data[tensor->numel() - 1]);
    }
  } catch (const std::exception& error) {
    words = error.what();
  }
  return words.c_str();
}

}  // extern "C"
