// Memory that somebody else allocated on a GPU, on the tests' own library of CUDA.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "generator/manifest/descriptor.hpp"
#include "runtime/hip/api.hpp"
#include "runtime/hip/devices.hpp"
#include "tests/runtime/error_words.hpp"
#include "tests/runtime/fake_cuda_fixture.hpp"

namespace iris::hip::foreign_memory_test {
namespace {

using test::error_of;

constexpr std::size_t unit = std::size_t{2} << 20;

class ForeignMemory : public OnFakeCuda {
 protected:
  void SetUp() override {
    OnFakeCuda::SetUp();
    if (HasFatalFailure()) return;
    ours_ = open_device(loaded_.api, 0, 0);
    theirs_ = open_device(loaded_.api, 1, 1);
  }

  void TearDown() override {
    for (void* memory : plain_) EXPECT_EQ(call().hipFree(memory), success);
  }

  const Functions& call() const { return loaded_.api.call; }
  Device& ours() { return *ours_.devices.at(0); }
  Device& theirs() { return *theirs_.devices.at(0); }

  char* plain(std::size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(call().hipExtMallocWithFlags(&memory, bytes, 0), success);
    plain_.push_back(memory);
    return static_cast<char*>(memory);
  }

  /// As an expandable segment: several allocations side by side.
  char* expandable(const std::vector<std::size_t>& sizes, int handle_types = handle_type_file) {
    std::size_t total = 0;
    for (const std::size_t size : sizes) total += size;
    void* begin = nullptr;
    EXPECT_EQ(call().hipMemAddressReserve(&begin, total, 0, nullptr, 0), success);
    char* at = static_cast<char*>(begin);
    AllocationProperties properties{};
    properties.handle_types = handle_types;
    for (const std::size_t size : sizes) {
      AllocationHandle handle = nullptr;
      EXPECT_EQ(call().hipMemCreate(&handle, size, &properties, 0), success);
      EXPECT_EQ(call().hipMemMap(at, size, 0, handle, 0), success);
      EXPECT_EQ(call().hipMemRelease(handle), success);
      at += size;
    }
    const AccessDescription access{{location_device, 0}, access_read_write};
    EXPECT_EQ(call().hipMemSetAccess(begin, total, &access, 1), success);
    fake_->accessing.clear();
    return static_cast<char*>(begin);
  }

  static void close_files(const ExportedMemory& exported) {
    for (const int file : exported.files) Descriptor(file).close();
  }

  DeviceGroup theirs_;
  DeviceGroup ours_;
  std::vector<void*> plain_;
};

TEST_F(ForeignMemory, VirtualMemoryIsOpenedToEachDeviceOnce) {
  char* memory = expandable({unit, 3 * unit});
  ours().bind();
  ours().open_to_devices(memory + unit / 2, 2 * unit, std::array{0, 1, 0, 1});
  EXPECT_EQ(fake_->accessing, (std::set<int>{0, 1}));
  EXPECT_EQ(fake_->live_handles, 0);
}

TEST_F(ForeignMemory, PlainMemoryIsOpenByPeerAccess) {
  ours().bind();
  ours().open_to_devices(plain(1000), 1000, std::array{0, 1});
  EXPECT_TRUE(fake_->accessing.empty());
}

TEST_F(ForeignMemory, SeveralAllocationsLieSideBySideInAnotherProcess) {
  ours().bind();
  char* memory = expandable({unit, 3 * unit, 2 * unit}) + unit / 2;
  const std::size_t bytes = 4 * unit;  // from the first allocation into the last
  const ExportedMemory exported = ours().export_adopted(memory, bytes);
  EXPECT_EQ(exported.sizes, (std::vector<std::size_t>{unit, 3 * unit, 2 * unit}));
  EXPECT_EQ(exported.offset, unit / 2);
  theirs().bind();
  char* mapped = static_cast<char*>(theirs().import_adopted(exported, bytes));
  close_files(exported);
  ASSERT_NE(mapped, memory);
  for (const std::size_t at : {std::size_t{0}, unit / 2, 3 * unit, bytes - 1}) {
    memory[at] = static_cast<char>(at / unit + 3);
    EXPECT_EQ(mapped[at], static_cast<char>(at / unit + 3)) << at;
  }
  EXPECT_TRUE(fake_->accessing.contains(1));
  theirs().release_adopted(mapped);
  EXPECT_EQ(fake_->live_mappings, 3) << "the owner's";
  EXPECT_EQ(fake_->live_handles, 0);
}

TEST_F(ForeignMemory, WhatADeviceHasMappedEndsWithIt) {
  ours().bind();
  char* memory = expandable({unit});
  const ExportedMemory exported = ours().export_adopted(memory, unit);
  theirs().bind();
  theirs().import_adopted(exported, unit);
  close_files(exported);
  EXPECT_EQ(fake_->live_mappings, 2);
  theirs_ = {};
  EXPECT_EQ(fake_->live_mappings, 1);
  EXPECT_EQ(fake_->live_handles, 0);
}

/// Parts of what one handle stands for, as a caching allocator gives them out.
TEST_F(ForeignMemory, AHandleIsOpenedOnceAndClosedWithItsLastUse) {
  char* segment = plain(4096);
  ours().bind();
  const ExportedMemory first = ours().export_adopted(segment + 256, 512);
  const ExportedMemory second = ours().export_adopted(segment + 2048, 512);
  EXPECT_TRUE(first.files.empty());
  theirs().bind();
  void* mapped_first = theirs().import_adopted(first, 512);
  void* mapped_second = theirs().import_adopted(second, 512);
  EXPECT_EQ(mapped_first, segment + 256) << "the fake's handle is the address";
  EXPECT_EQ(mapped_second, segment + 2048);
  EXPECT_EQ(fake_->opened_handles, 1);
  theirs().release_adopted(mapped_first);
  EXPECT_EQ(fake_->open_handles, 1);
  theirs().release_adopted(mapped_second);
  EXPECT_EQ(fake_->open_handles, 0);
}

TEST_F(ForeignMemory, RefusesVirtualMemoryThatCannotBeExported) {
  char* memory = expandable({unit}, 0);
  ours().bind();
  const std::string error = error_of([&] { ours().export_adopted(memory, unit); });
  EXPECT_NE(error.find("CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR"), std::string::npos) << error;
  EXPECT_NE(error.find("expandable_segments:False"), std::string::npos) << error;
  EXPECT_EQ(fake_->live_handles, 0);
}

TEST_F(ForeignMemory, RefusesWhatIsNotTheGpus) {
  ours().bind();
  std::array<char, 64> elsewhere{};
  const std::string error = error_of([&] { ours().open_to_devices(elsewhere.data(), 64, std::array{0, 1}); });
  EXPECT_NE(error.find("0 bytes into the memory is no allocation of the GPU's library"), std::string::npos) << error;
  char* memory = expandable({unit});
  const std::string beyond = error_of([&] { ours().export_adopted(memory, unit + 1); });
  EXPECT_NE(beyond.find("2097152 bytes into the memory is no allocation"), std::string::npos) << beyond;
}

TEST_F(ForeignMemory, RefusesAPools) {
  ours().bind();
  char* memory = plain(64);
  fake_->is_pools = true;
  const std::string error = error_of([&] { ours().export_adopted(memory, 64); });
  EXPECT_NE(error.find("cudaMallocAsync"), std::string::npos) << error;
}

TEST_F(ForeignMemory, AllocationsHaveNumbers) {
  char* first = plain(64);
  char* second = plain(64);
  ours().bind();
  EXPECT_NE(ours().allocation_of(first), 0);
  EXPECT_NE(ours().allocation_of(first), ours().allocation_of(second));
  EXPECT_EQ(ours().allocation_of(first), theirs().allocation_of(first));
  int elsewhere = 0;
  EXPECT_EQ(ours().allocation_of(&elsewhere), 0);
}

}  // namespace
}  // namespace iris::hip::foreign_memory_test
