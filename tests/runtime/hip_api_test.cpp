#include "generator/manifest/descriptor.hpp"
#include "runtime/hip/api.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "iris/device.hpp"
#include "runtime/hip/devices.hpp"
#include "tests/runtime/fake_hip.hpp"

namespace iris::hip::hip_api_test {
namespace {

using testing::Test;

class HipDevices : public Test {
 protected:
  void SetUp() override {
    void* library = dlopen(IRISGEN_FAKE_HIP, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    fake_ = reinterpret_cast<FakeHip* (*)()>(dlsym(library, "fake_hip_state"))();
    *fake_ = {};
  }

  LoadedApi load() const { return load_hip(IRISGEN_FAKE_HIP); }

  /// What() of the exception that `action` throws; empty if it throws none.
  template <class Action>
  static std::string sentence_of(Action action) {
    try {
      action();
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  }

  static CodeObject code(const std::string& target) {
    return {.target = target, .compiler = "none", .bytes = std::vector<std::byte>(16), .resources = {}};
  }

  FakeHip* fake_ = nullptr;
};

TEST_F(HipDevices, LibraryIsDescribedByVersionAndName) {
  const LoadedApi loaded = load();
  ASSERT_TRUE(loaded) << loaded.missing;
  EXPECT_EQ(loaded.api.devices, 2);
  EXPECT_EQ(loaded.api.description, std::string("HIP 6.2 (") + IRISGEN_FAKE_HIP + ")");
}

TEST_F(HipDevices, MissingLibraryNamesThePackage) {
  const LoadedApi loaded = load_hip("/nonexistent/libamdhip64.so");
  EXPECT_FALSE(loaded);
  EXPECT_NE(loaded.missing.find("/nonexistent/libamdhip64.so"), std::string::npos) << loaded.missing;
  EXPECT_NE(loaded.missing.find("install ROCm"), std::string::npos) << loaded.missing;
}

TEST_F(HipDevices, LibraryWithoutTheFunctionsNamesThem) {
  const LoadedApi loaded = load_hip("libm.so.6");
  EXPECT_FALSE(loaded);
  EXPECT_NE(loaded.missing.find("lacks hipRuntimeGetVersion, hipGetDeviceCount"), std::string::npos) << loaded.missing;
}

TEST_F(HipDevices, LibraryWithoutDevicesIsMissingWithTheDriverAsRemedy) {
  fake_->devices = 0;
  const LoadedApi loaded = load();
  EXPECT_FALSE(loaded);
  EXPECT_NE(loaded.missing.find("reports no device"), std::string::npos) << loaded.missing;
  EXPECT_NE(loaded.missing.find("/dev/kfd"), std::string::npos) << loaded.missing;
}

TEST_F(HipDevices, CudaWithoutLibraryNamesTheDriver) {
  const LoadedApi loaded = load_cuda("/nonexistent/libcuda.so.1");
  EXPECT_FALSE(loaded);
  EXPECT_NE(loaded.missing.find("install NVIDIA's driver"), std::string::npos) << loaded.missing;
}

TEST_F(HipDevices, ArchitectureIsFoundWhereverTheLayoutPutsIt) {
  const LoadedApi loaded = load();
  for (const std::size_t offset : {256U, 396U, 1160U, 1471U}) {
    fake_->architecture_offset = offset;
    EXPECT_EQ(loaded.api.architecture(loaded.api, 0), "gfx90a") << offset;
  }
}

TEST_F(HipDevices, ArchitectureThatIsNoneIsEmpty) {
  fake_->architectures = {"gfx", "gfx-next"};
  const LoadedApi loaded = load();
  EXPECT_EQ(loaded.api.architecture(loaded.api, 0), "");
  EXPECT_EQ(loaded.api.architecture(loaded.api, 1), "");
}

TEST_F(HipDevices, SurveyTellsOfEveryDevice) {
  const DeviceSurvey found = survey(load());
  ASSERT_EQ(found.gpus.size(), 2U);
  EXPECT_TRUE(found.missing.empty());
  EXPECT_EQ(found.gpus[1].index, 1);
  EXPECT_EQ(found.gpus[1].description, "Fake Instinct");
  EXPECT_EQ(found.gpus[1].target, "gfx90a");
  EXPECT_EQ(found.gpus[1].compute_units, 104);
  EXPECT_EQ(found.gpus[1].memory_bytes, std::uint64_t{64} << 30);
}

TEST_F(HipDevices, SurveyWithoutALibrarySaysWhy) {
  const DeviceSurvey found = survey(load_hip("/nonexistent/libamdhip64.so"));
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_TRUE(found.api.empty());
  EXPECT_FALSE(found.missing.empty());
}

TEST_F(HipDevices, RanksTakeDevicesInTurnWithAStreamEach) {
  const LoadedApi loaded = load();
  {
    const DeviceGroup group = open_devices(loaded.api, 5);
    ASSERT_EQ(group.devices.size(), 5U);
    EXPECT_EQ(group.ranks_per_device, (std::vector<int>{3, 2}));
    for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(group.devices[static_cast<std::size_t>(rank)]->index(), rank % 2);
    EXPECT_EQ(group.devices[0]->target(), "gfx90a");
    EXPECT_EQ(fake_->live_streams, 5);
  }
  EXPECT_EQ(fake_->live_streams, 0);
}

/// Programs enqueue into the library's null stream when they name none. Kernels that wait for one another cannot.
TEST_F(HipDevices, ARanksOwnStreamIsInOrderWithTheNullStreamUnlessRanksShareTheDevice) {
  const LoadedApi loaded = load();
  {
    const DeviceGroup apart = open_devices(loaded.api, 2);
    EXPECT_EQ(fake_->stream_flags, (std::vector<unsigned>{stream_default, stream_default}));
  }
  fake_->stream_flags.clear();
  const DeviceGroup sharing = open_devices(loaded.api, 3);
  EXPECT_EQ(fake_->stream_flags, (std::vector<unsigned>{stream_non_blocking, stream_default, stream_non_blocking}));
}

TEST_F(HipDevices, PeerAccessIsEnabledBothWaysAmongTheDevicesUsed) {
  fake_->devices = 3;
  fake_->architectures.assign(3, "gfx942");
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 2);
  EXPECT_EQ(fake_->enabled_peers, (std::vector<std::pair<int, int>>{{0, 1}, {1, 0}}));
}

TEST_F(HipDevices, PeerAccessThatIsAlreadyEnabledIsNoError) {
  fake_->peers_already_enabled = true;
  const LoadedApi loaded = load();
  EXPECT_EQ(open_devices(loaded.api, 2).devices.size(), 2U);
}

TEST_F(HipDevices, LearnToCopyToOneAnotherOnceAProcess) {
  fake_->devices = 3;
  fake_->architectures.assign(3, "gfx942");
  const LoadedApi loaded = load();
  const auto copies_of_opening = [&](int ranks) {
    const int before = fake_->copies;
    open_devices(loaded.api, ranks);
    return fake_->copies - before;
  };
  EXPECT_EQ(copies_of_opening(2), 2 * 2 * 2);  // from each to each, a small one and a large one
  EXPECT_EQ(copies_of_opening(2), 0);
  EXPECT_EQ(copies_of_opening(1), 0);
  EXPECT_EQ(copies_of_opening(3), 3 * 3 * 2);
}

TEST_F(HipDevices, CopiesOfRanksThatShareAGpuAreEnqueuedWhenTheirTurnHasCome) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 3);
  const std::array<char, 4> from{};
  std::array<char, 4> to{};
  for (const std::size_t rank : {0, 1, 2}) {
    Device& device = *group.devices[rank];
    const Stream stream = device.create_stream();
    fake_->synchronized.clear();
    device.enqueue_copy(to.data(), from.data(), to.size(), stream);
    const bool shares = rank != 1;  // ranks 0 and 2 have GPU 0
    EXPECT_EQ(fake_->synchronized, shares ? std::vector{stream} : std::vector<void*>{}) << rank;
    device.destroy_stream(stream);
  }
}

TEST_F(HipDevices, AStreamOfARankThatSharesItsGpuHasBeenUsed) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 3);
  for (const std::size_t rank : {0, 1, 2}) {
    Device& device = *group.devices[rank];
    fake_->records.clear();
    fake_->synchronized.clear();
    const Stream stream = device.create_stream();
    const bool shares = rank != 1;  // ranks 0 and 2 have GPU 0
    EXPECT_EQ(fake_->records.size(), shares ? 1U : 0U) << rank;
    for (const auto& [event, recorded_in] : fake_->records) EXPECT_EQ(recorded_in, stream) << rank;
    EXPECT_EQ(fake_->synchronized, shares ? std::vector{stream} : std::vector<void*>{}) << rank;
    EXPECT_EQ(fake_->live_events, 0);
    device.destroy_stream(stream);
  }
}

TEST_F(HipDevices, DevicesThatCannotReachOneAnotherAreASentence) {
  fake_->peers_can_access = false;
  const LoadedApi loaded = load();
  const std::string sentence = sentence_of([&] { open_devices(loaded.api, 2); });
  EXPECT_NE(sentence.find("device 0 cannot address the memory of device 1"), std::string::npos) << sentence;
}

TEST_F(HipDevices, OneRankNeedsNoPeer) {
  fake_->peers_can_access = false;
  const LoadedApi loaded = load();
  EXPECT_EQ(open_devices(loaded.api, 1).devices.size(), 1U);
}

TEST_F(HipDevices, UnlikeDevicesAreASentence) {
  fake_->architectures = {"gfx942", "gfx90a"};
  const LoadedApi loaded = load();
  const std::string sentence = sentence_of([&] { open_devices(loaded.api, 2); });
  EXPECT_NE(sentence.find("device 0 is gfx942, device 1 is gfx90a"), std::string::npos) << sentence;
}

TEST_F(HipDevices, MemoryComesZeroedAndIsGivenBack) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 1);
  Device& device = *group.devices[0];
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4096}}) {
    auto* const memory = static_cast<char*>(device.allocate(bytes));
    auto* const host = static_cast<char*>(device.allocate_host(bytes));
    EXPECT_TRUE(std::all_of(memory, memory + bytes, [](char c) { return c == 0; }));
    EXPECT_TRUE(std::all_of(host, host + bytes, [](char c) { return c == 0; }));
    EXPECT_EQ(fake_->live_allocations, 2);
    device.release(memory);
    device.release_host(host);
    EXPECT_EQ(fake_->live_allocations, 0);
  }
}

TEST_F(HipDevices, CopyAndFillMoveBytes) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 1);
  char from[8] = "0123456";
  char to[8] = {};
  group.devices[0]->copy(to, from, 8);
  EXPECT_STREQ(to, "0123456");
  group.devices[0]->fill(to, 'x', 3);
  EXPECT_STREQ(to, "xxx3456");
  group.devices[0]->copy(nullptr, nullptr, 0);
  const Stream stream = group.devices[0]->create_stream();
  group.devices[0]->enqueue_copy(to + 3, from, 2, stream);
  EXPECT_STREQ(to, "xxx0156");
  group.devices[0]->enqueue_copy(nullptr, nullptr, 0, stream);
  group.devices[0]->destroy_stream(stream);
}

TEST_F(HipDevices, StreamsWaitForEvents) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 1);
  Device& device = *group.devices[0];
  const Stream stream = device.create_stream();
  const Event event = device.create_event();
  device.record(event, nullptr);
  device.wait(event, stream);
  device.wait(event, nullptr);
  ASSERT_EQ(fake_->waits.size(), 2U);
  EXPECT_EQ(fake_->waits[0], std::pair(stream, event));
  EXPECT_NE(fake_->waits[1].first, nullptr) << "the rank's own stream stands in for null";
  device.destroy_event(event);
  device.destroy_stream(stream);
}

TEST_F(HipDevices, LaunchPassesGridArgumentsAndTheRanksOwnStream) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 4);
  std::set<void*> streams;
  for (int rank = 0; rank < 4; ++rank) {
    Device& device = *group.devices[static_cast<std::size_t>(rank)];
    device.bind();
    const std::unique_ptr<Module> module = device.load(code("gfx90a"));
    const Function& function = module->function("known");
    const int argument = 100 + rank;
    const ArgumentBytes arguments[] = {{&argument, sizeof argument}};
    device.launch(function, {.name = "k", .blocks = 7, .threads = 64}, arguments);
    const FakeHip::Launch& launch = fake_->launches.back();
    EXPECT_EQ(launch.device, rank % 2);
    EXPECT_EQ(launch.blocks, 7U);
    EXPECT_EQ(launch.threads, 64U);
    EXPECT_EQ(launch.first_argument, argument);
    streams.insert(launch.stream);
  }
  EXPECT_EQ(streams.size(), 4U) << "ranks must not share a stream";
  EXPECT_FALSE(streams.contains(nullptr)) << "the null stream serialises the ranks of a device";
  EXPECT_EQ(fake_->live_modules, 0);
}

TEST_F(HipDevices, FailedLaunchNamesCallKernelRankDeviceAndError) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 4);
  Device& device = *group.devices[3];
  const std::unique_ptr<Module> module = device.load(code("gfx90a"));
  const Function& function = module->function("known");
  fake_->launch_error = 719;
  const int argument = 0;
  const ArgumentBytes arguments[] = {{&argument, sizeof argument}};
  const std::string sentence =
      sentence_of([&] { device.launch(function, {.name = "gradient_sum", .blocks = 7, .threads = 64}, arguments); });
  EXPECT_EQ(sentence,
            "hipModuleLaunchKernel (kernel gradient_sum, 7 blocks of 64 threads) failed on rank 3, device 1: "
            "hipErrorLaunchFailure, unspecified launch failure");
}

TEST_F(HipDevices, UnknownSymbolIsNamed) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 1);
  const std::unique_ptr<Module> module = group.devices[0]->load(code("gfx90a"));
  const std::string sentence = sentence_of([&] { module->function("unknown"); });
  EXPECT_NE(sentence.find("symbol unknown"), std::string::npos) << sentence;
}

TEST_F(HipDevices, CodeForAnotherChipIsRefused) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 1);
  const std::string sentence = sentence_of([&] { group.devices[0]->load(code("gfx942")); });
  EXPECT_NE(sentence.find("cannot load code for gfx942: its device is gfx90a"), std::string::npos) << sentence;
}

TEST_F(HipDevices, ResidentBlocksCountTheWholeDevice) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 1);
  const std::unique_ptr<Module> module = group.devices[0]->load(code("gfx90a"));
  EXPECT_EQ(group.devices[0]->resident_blocks(module->function("known"), 256), 4 * 104);
}

TEST_F(HipDevices, GraphsAreCapturedLaunchedAndGivenBack) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 1);
  Device& device = *group.devices[0];
  device.begin_capture(nullptr);
  ASSERT_EQ(fake_->captures.size(), 1U);
  EXPECT_NE(fake_->captures[0], nullptr) << "the rank's own stream stands in for null";
  const Graph graph = device.end_capture(nullptr);
  EXPECT_EQ(fake_->live_graphs, 1) << "the executable one alone is kept";
  device.launch_graph(graph, nullptr);
  ASSERT_EQ(fake_->graph_launches.size(), 1U);
  EXPECT_EQ(fake_->graph_launches[0], std::pair(graph, fake_->captures[0]));
  device.destroy_graph(graph);
  EXPECT_EQ(fake_->live_graphs, 0);
  const Stream stream = device.create_stream();
  EXPECT_THROW(device.end_capture(stream), std::runtime_error) << "none began there";
  device.destroy_stream(stream);
}

TEST_F(HipDevices, EventsMeasureAndAreGivenBack) {
  const LoadedApi loaded = load();
  const DeviceGroup group = open_devices(loaded.api, 1);
  Device& device = *group.devices[0];
  const Event start = device.create_event();
  const Event stop = device.create_event();
  device.record(start, nullptr);
  device.record(stop, nullptr);
  EXPECT_DOUBLE_EQ(device.milliseconds(start, stop), 1.5);
  device.destroy_event(start);
  device.destroy_event(stop);
  EXPECT_EQ(fake_->live_events, 0);
}

TEST_F(HipDevices, MemoryIsSharedByAnIpcHandleBeforeUncachedVirtualMemory) {
  const LoadedApi loaded = load();
  {
    const DeviceGroup exporting = open_device(loaded.api, 3, 3);
    const DeviceGroup importing = open_device(loaded.api, 0, 0);
    EXPECT_EQ(exporting.devices[0]->index(), 1) << "devices are counted round";
    EXPECT_EQ(exporting.devices[0]->address(), "0000:02:00.0");
    const RangeOptions options{.bytes = 64, .grows = false, .among_processes = true};
    const auto theirs = exporting.devices[0]->reserve(options);
    const auto ours = importing.devices[0]->reserve(options);
    theirs->add(64);
    const Descriptor file(theirs->export_piece(0));
    ours->add_imported(file.get(), 64);
    EXPECT_EQ(ours->begin(), theirs->begin()) << "the fake's handle is the address";
    EXPECT_EQ(fake_->open_handles, 1);
    EXPECT_EQ(fake_->live_allocations, 1);
  }
  EXPECT_EQ(fake_->live_allocations + fake_->open_handles, 0);
}

}  // namespace
}  // namespace iris::hip::hip_api_test
