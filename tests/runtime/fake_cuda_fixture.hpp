#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "runtime/hip/api.hpp"
#include "runtime/hip/devices.hpp"
#include "tests/runtime/fake_cuda.hpp"

namespace iris::hip {

/// Tests on the tests' own library of CUDA, in its first state.
class OnFakeCuda : public testing::Test {
 protected:
  void SetUp() override {
    void* library = dlopen(IRISGEN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    fake_ = reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "fake_cuda_state"))();
    *fake_ = {};
    loaded_ = load_cuda(IRISGEN_FAKE_CUDA);
    ASSERT_TRUE(loaded_) << loaded_.missing;
  }

  FakeCuda* fake_ = nullptr;
  LoadedApi loaded_;
};

}  // namespace iris::hip
