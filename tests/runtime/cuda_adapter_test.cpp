#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <thread>

#include "generator/manifest/descriptor.hpp"
#include "runtime/hip/api.hpp"
#include "runtime/hip/cuda_driver.hpp"
#include "runtime/hip/devices.hpp"
#include "tests/runtime/error_words.hpp"
#include "tests/runtime/fake_cuda_fixture.hpp"

namespace iris::hip::cuda_adapter_test {
namespace {

using test::error_of;

constexpr std::size_t unit = FakeVirtualMemory::unit;

class CudaAdapter : public OnFakeCuda {};

TEST_F(CudaAdapter, LibraryIsDescribedByVersionAndName) {
  EXPECT_EQ(loaded_.api.description, std::string("CUDA 13.1 (") + IRISGEN_FAKE_CUDA + ")");
}

TEST_F(CudaAdapter, HopperIsNamedForItsOwnInstructionsAndOthersPlainly) {
  EXPECT_EQ(loaded_.api.architecture(loaded_.api, 0), "sm_90a");
  fake_->major = 8;
  fake_->minor = 6;
  EXPECT_EQ(loaded_.api.architecture(loaded_.api, 0), "sm_86");
}

TEST_F(CudaAdapter, SurveyTellsOfEveryDevice) {
  const DeviceSurvey found = survey(loaded_);
  ASSERT_EQ(found.gpus.size(), 2U);
  EXPECT_EQ(found.gpus[1].description, "Fake H200");
  EXPECT_EQ(found.gpus[1].target, "sm_90a");
  EXPECT_EQ(found.gpus[1].compute_units, 132);
  EXPECT_EQ(found.gpus[1].memory_bytes, std::uint64_t{141} << 30);
}

TEST_F(CudaAdapter, EachDevicesPrimaryContextIsRetainedOnce) {
  const DeviceGroup group = open_devices(loaded_.api, 8);
  EXPECT_EQ(fake_->retained_contexts, 2);
  EXPECT_EQ(fake_->peer_of_last_enable, 0);
}

TEST_F(CudaAdapter, CallWithoutAContextIsASentence) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  std::string sentence;
  std::thread([&] {
    try {
      group.devices[0]->synchronize();
    } catch (const std::exception& error) {
      sentence = error.what();
    }
  }).join();
  EXPECT_EQ(sentence,
            "hipStreamSynchronize failed on rank 0, device 0: CUDA_ERROR_INVALID_CONTEXT, invalid device context");
}

TEST_F(CudaAdapter, MemoryComesZeroedMovesAndMayBeReleasedByAnyThread) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  Device& device = *group.devices[0];
  auto* const memory = static_cast<char*>(device.allocate(64));
  auto* const host = static_cast<char*>(device.allocate_host(64));
  EXPECT_TRUE(std::all_of(memory, memory + 64, [](char c) { return c == 0; }));
  EXPECT_TRUE(std::all_of(host, host + 64, [](char c) { return c == 0; }));
  device.fill(host, 0x5a, 64);
  device.copy(memory, host, 64);
  EXPECT_TRUE(std::all_of(memory, memory + 64, [](char c) { return c == 0x5a; }));
  std::thread([&] {
    device.release(memory);
    device.release_host(host);
  }).join();
  EXPECT_EQ(fake_->live_allocations, 0);
}

/// A module that has a function "kernel".
std::unique_ptr<Module> load_kernel(Device& device) {
  device.bind();
  return device.load({.target = "sm_90a", .compiler = "none", .bytes = std::vector<std::byte>(16), .resources = {}});
}

TEST_F(CudaAdapter, FunctionIsLoadedBeforeItsFirstLaunch) {
  const DeviceGroup group = open_devices(loaded_.api, 2);
  Device& device = *group.devices[1];
  const std::unique_ptr<Module> module = load_kernel(device);
  const Function& function = module->function("kernel");
  EXPECT_EQ(fake_->loaded_functions, 1);
  EXPECT_EQ(device.resident_blocks(function, 128), 2 * 132);
  device.launch(function, {.name = "kernel", .blocks = 1, .threads = 32}, {});
  EXPECT_EQ(fake_->device_of_last_launch, 1);
  EXPECT_EQ(fake_->dependent_launches, 0);
}

/// A launch of that kernel by the first of the devices, which may be a dependent one.
void launch_dependent(Device& device) {
  const std::unique_ptr<Module> module = load_kernel(device);
  device.launch(module->function("kernel"), {.name = "kernel", .blocks = 7, .threads = 32, .dependent = true}, {});
}

TEST_F(CudaAdapter, KernelThatWaitsForItsStreamIsSetUpBeforeThatEnds) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  launch_dependent(*group.devices[0]);
  ASSERT_EQ(fake_->dependent_launches, 1);
  const LaunchCall& call = fake_->dependent_launch;
  EXPECT_EQ(call.blocks, 7U);
  EXPECT_EQ(call.threads, 32U);
  EXPECT_EQ(call.attribute, cuda::launch_programmatic_stream_serialization);
  EXPECT_EQ(call.value, 1);
  EXPECT_NE(call.stream, nullptr);
}

TEST_F(CudaAdapter, KernelLeavesSharedMemoryToOthers) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  Device& device = *group.devices[0];
  const std::unique_ptr<Module> module = load_kernel(device);
  device.leave_shared_memory(module->function("kernel"));
  EXPECT_EQ(fake_->attribute, std::pair(cuda::preferred_shared_memory_carveout, 100));
}

TEST_F(CudaAdapter, DriverThatCapturesNoDependentLaunchesLaunchesPlainly) {
  fake_->version = 12020;
  const LoadedApi old = load_cuda(IRISGEN_FAKE_CUDA);
  ASSERT_TRUE(old) << old.missing;
  const DeviceGroup group = open_devices(old.api, 1);
  launch_dependent(*group.devices[0]);
  EXPECT_EQ(fake_->dependent_launches, 0);
  EXPECT_EQ(fake_->device_of_last_launch, 0);
}

TEST_F(CudaAdapter, TensorMapIsOfColumnsAndRows) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  Device& device = *group.devices[0];
  device.bind();
  alignas(16) const char data[16] = {};
  const device::TensorMap map = device.tensor_map(
      {.data = data, .element_bytes = 2, .rows = 100, .columns = 72, .box_rows = 128, .box_columns = 64});
  EXPECT_EQ(map.words[15], 0x7777777777777777U);
  const TensorMapCall& call = fake_->tensor_map;
  EXPECT_EQ(call.data, data);
  EXPECT_EQ(call.rank, 2);
  EXPECT_TRUE(std::ranges::equal(call.lengths, std::array{72, 100}));
  EXPECT_EQ(call.strides[0], 144U);
  EXPECT_TRUE(std::ranges::equal(call.box, std::array{64, 128}));
  EXPECT_TRUE(std::ranges::equal(call.steps, std::array{1, 1}));
}

/// Which round f32 to tf32 as they copy it.
TEST_F(CudaAdapter, TensorMapOfFourBytesIsOfTf32) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  Device& device = *group.devices[0];
  device.bind();
  alignas(16) const char data[16] = {};
  for (const auto& [bytes, type] :
       {std::pair{1, cuda::tensor_map_uint8}, {2, cuda::tensor_map_uint16}, {4, cuda::tensor_map_tfloat32}}) {
    device.tensor_map({.data = data, .element_bytes = bytes, .rows = 8, .columns = 16});
    EXPECT_EQ(fake_->tensor_map.type, type) << bytes;
  }
}

TEST_F(CudaAdapter, TensorMapIsEncodedOnceForALayout) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  Device& device = *group.devices[0];
  alignas(16) static const char data[64 * 16] = {};
  const auto data_of_map = [&](int which, int rows) {
    device.tensor_map({.data = data + 16 * which, .element_bytes = 2, .rows = rows, .columns = 8});
    return fake_->tensor_map.data;
  };
  EXPECT_EQ(data_of_map(0, 4), data);
  EXPECT_EQ(data_of_map(1, 4), data + 16);
  EXPECT_EQ(data_of_map(0, 4), data + 16) << "the first is known";
  EXPECT_EQ(fake_->tensor_maps, 2);
  EXPECT_EQ(data_of_map(0, 3), data);
  EXPECT_EQ(fake_->tensor_maps, 3);
  for (int which = 0; which < 64; ++which) data_of_map(which, 2);
  EXPECT_EQ(fake_->tensor_maps, 3 + 64);
  EXPECT_EQ(data_of_map(0, 4), data) << "it is forgotten";
  EXPECT_EQ(data_of_map(63, 2), data);
  EXPECT_EQ(fake_->tensor_maps, 3 + 64 + 1);
}

TEST_F(CudaAdapter, TensorMapOf8BitElementsSaysSo) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  alignas(16) const char data[16] = {};
  group.devices[0]->tensor_map({.data = data, .element_bytes = 1, .rows = 1, .columns = 16, .box_columns = 16});
  EXPECT_EQ(fake_->tensor_map.type, cuda::tensor_map_uint8);
  EXPECT_EQ(fake_->tensor_map.strides[0], 16U);
}

TEST_F(CudaAdapter, TensorMapsFetchRowsThatBeginWithinLinesByTheseLines) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  alignas(16) const char data[16] = {};
  const auto promotion_of = [&](std::int64_t columns) {
    group.devices[0]->tensor_map({.data = data, .element_bytes = 2, .rows = 2, .columns = columns, .box_columns = 8});
    return fake_->tensor_map.l2_promotion;
  };
  for (const std::int64_t columns : {64, 3072}) EXPECT_EQ(promotion_of(columns), cuda::tensor_map_l2_promotion_256b);
  for (const std::int64_t columns : {8, 96, 3000}) EXPECT_EQ(promotion_of(columns), cuda::tensor_map_l2_promotion_128b);
}

TEST_F(CudaAdapter, TensorMapThatCannotBeIsASentence) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  alignas(16) const char data[32] = {};
  const MatrixLayout layout{
      .data = data + 8, .element_bytes = 2, .rows = 100, .columns = 72, .box_rows = 1, .box_columns = 1};
  try {
    group.devices[0]->tensor_map(layout);
    FAIL() << "unaligned data";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("cuTensorMapEncodeTiled (100 x 72 elements of 2 bytes) failed on rank 0"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(CudaAdapter, GraphsAreLaunched) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  Device& device = *group.devices[0];
  device.begin_capture(nullptr);
  const Graph graph = device.end_capture(nullptr);
  EXPECT_NO_THROW(device.launch_graph(graph, nullptr));
  EXPECT_THROW(device.launch_graph(nullptr, nullptr), std::runtime_error);
  device.destroy_graph(graph);
}

TEST_F(CudaAdapter, EventsMeasure) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  Device& device = *group.devices[0];
  const Event start = device.create_event();
  const Event stop = device.create_event();
  device.record(start, nullptr);
  device.record(stop, nullptr);
  device.wait(start, nullptr);
  EXPECT_DOUBLE_EQ(device.milliseconds(start, stop), 2.5);
  device.destroy_event(start);
  device.destroy_event(stop);
}

TEST_F(CudaAdapter, MemoryIsSharedAsFilesAndEverythingIsGivenBack) {
  {
    const DeviceGroup exporting = open_device(loaded_.api, 0, 0);
    const DeviceGroup importing = open_device(loaded_.api, 1, 1);
    const RangeOptions options{.bytes = 5 * unit - 1, .among_processes = true};
    exporting.devices[0]->bind();
    const auto theirs = exporting.devices[0]->reserve(options);
    const auto ours = importing.devices[0]->reserve(options);
    ASSERT_EQ(theirs->unit(), unit);
    for (const std::size_t bytes : {unit, 3 * unit}) {
      theirs->add(bytes);
      const Descriptor file(theirs->export_piece(bytes == unit ? 0 : 1));
      ours->add_imported(file.get(), bytes);
    }
    ASSERT_NE(ours->begin(), theirs->begin());
    EXPECT_TRUE(std::all_of(theirs->begin(), theirs->begin() + 4 * unit, [](char byte) { return byte == 0; }));
    theirs->begin()[4 * unit - 1] = 7;
    ours->begin()[0] = 9;
    EXPECT_EQ(ours->begin()[4 * unit - 1], 7);
    EXPECT_EQ(theirs->begin()[0], 9);
    ours->remove_last();
    EXPECT_EQ(fake_->live_mappings, 3);
    theirs->remove_last();
    EXPECT_EQ(fake_->allocated_bytes(), unit);
    theirs->add(4 * unit);
    EXPECT_EQ(theirs->begin()[unit], 0) << "new memory";
  }
  EXPECT_EQ(fake_->live_mappings, 0);
  EXPECT_EQ(fake_->live_handles, 0);
  EXPECT_EQ(fake_->allocated_bytes(), 0U);
  EXPECT_TRUE(fake_->reserved.empty());
}

TEST_F(CudaAdapter, MemoryThatAnotherGpuCannotReachIsASentenceAndLeavesNothing) {
  const DeviceGroup group = open_device(loaded_.api, 0, 0);
  Device& device = *group.devices[0];
  device.bind();
  const auto memory = device.reserve({.bytes = 2 * unit, .among_processes = true});
  const auto peers = device.reserve({.bytes = 2 * unit, .among_processes = true});
  memory->add(unit);
  const Descriptor file(memory->export_piece(0));
  fake_->may_be_accessed = false;
  const std::string sentence = error_of([&] { peers->add_imported(file.get(), unit); });
  EXPECT_NE(sentence.find("hipMemSetAccess"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("NVLink"), std::string::npos) << sentence;
  EXPECT_NE(error_of([&] { memory->add(unit); }), "");
  EXPECT_EQ(fake_->live_mappings, 1);
  EXPECT_EQ(fake_->live_handles, 1);
  EXPECT_EQ(fake_->allocated_bytes(), unit);
}

/// Among threads, where all devices of the world address it, and no file stands for it.
TEST_F(CudaAdapter, MemoryThatGrowsIsOpenToTheDevicesThatAreNamed) {
  const DeviceGroup group = open_devices(loaded_.api, 2);
  Device& device = *group.devices[1];
  device.bind();
  EXPECT_EQ(device.growth().limit, 0);
  EXPECT_EQ(device.growth().refusal, "");
  const auto memory = device.reserve({.bytes = 3 * unit, .devices = {0, 1, 0}});
  char* const begin = memory->begin();
  memory->add(unit);
  EXPECT_EQ(fake_->accessing, (std::set<int>{0, 1}));
  EXPECT_NE(error_of([&] { memory->export_piece(0); }), "");
  memory->add(2 * unit);
  EXPECT_EQ(memory->begin(), begin);
  const std::string beyond = error_of([&] { memory->add(unit); });
  EXPECT_NE(beyond.find("hipMemMap (2097152 bytes) failed on rank 1, device 1"), std::string::npos) << beyond;
  fake_->memory_bytes = 3 * unit;
  memory->remove_last();
  const std::string full = error_of([&] { memory->add(3 * unit); });
  EXPECT_NE(full.find("hipMemCreate (6291456 bytes) failed on rank 1, device 1: CUDA_ERROR_OUT_OF_MEMORY"),
            std::string::npos)
      << full;
  EXPECT_EQ(fake_->allocated_bytes(), unit);
}

TEST_F(CudaAdapter, MemoryOfOnePieceIsWhatCudaMallocGives) {
  const DeviceGroup group = open_devices(loaded_.api, 1);
  group.devices[0]->bind();
  {
    const auto memory = group.devices[0]->reserve({.bytes = 1000, .grows = false});
    memory->add(1000);
    EXPECT_TRUE(fake_->allocated.contains(memory->begin()));
    EXPECT_TRUE(std::all_of(memory->begin(), memory->begin() + 1000, [](char byte) { return byte == 0; }));
  }
  EXPECT_EQ(fake_->live_allocations, 0);
  EXPECT_TRUE(fake_->reserved.empty());
}

}  // namespace
}  // namespace iris::hip::cuda_adapter_test
