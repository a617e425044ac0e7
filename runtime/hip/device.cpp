#include "runtime/hip/device.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "iris/manifest.hpp"
#include "runtime/hip/single_allocation.hpp"
#include "runtime/hip/virtual_range.hpp"

namespace iris::hip {
namespace {

struct HipFunction final : Function {
  FunctionHandle handle = nullptr;
};

class HipModule final : public Module {
 public:
  HipModule(const Caller& caller, const CodeObject& code) : caller_(caller) {
    caller_.check(caller_.api->call.hipModuleLoadData(&handle_, code.bytes.data()), "hipModuleLoadData",
                  "code for " + code.target + " of " + std::to_string(code.bytes.size()) + " bytes");
  }
  ~HipModule() override {
    const Functions& call = caller_.api->call;
    // A module may die on another thread than its rank's. Nobody can act on a failure here.
    if (call.hipSetDevice(caller_.device) == success) call.hipModuleUnload(handle_);
  }
  HipModule(const HipModule&) = delete;
  HipModule& operator=(const HipModule&) = delete;

  const Function& function(const std::string& symbol) override {
    if (const auto known = functions_.find(symbol); known != functions_.end()) return known->second;
    HipFunction function;
    caller_.check(caller_.api->call.hipModuleGetFunction(&function.handle, handle_, symbol.c_str()),
                  "hipModuleGetFunction", "symbol " + symbol);
    return functions_.emplace(symbol, function).first->second;
  }

 private:
  Caller caller_;
  ModuleHandle handle_ = nullptr;
  std::unordered_map<std::string, HipFunction> functions_;  // nodes stay where they are
};

FunctionHandle handle_of(const Function& function) {
  return static_cast<const HipFunction&>(function).handle;
}

}  // namespace

void Caller::check(Error error, std::string_view function, const std::string& detail) const {
  if (error == success) return;
  std::string sentence(function);
  if (!detail.empty()) sentence += " (" + detail + ")";
  sentence += " failed on rank " + std::to_string(rank) + ", device " + std::to_string(device) + ": ";
  sentence += std::string(api->call.hipGetErrorName(error)) + ", " + api->call.hipGetErrorString(error);
  throw std::runtime_error(sentence);
}

HipDevice::HipDevice(const Api& api, int rank, int index, std::string target, bool shared)
    : caller_{&api, rank, index}, target_(std::move(target)), shared_(shared) {
  bind();
  std::array<char, 256> name{};
  caller_.check(call().hipDeviceGetName(name.data(), static_cast<int>(name.size() - 1), index), "hipDeviceGetName");
  description_ = name.data();
  caller_.check(call().hipDeviceGetPCIBusId(name.data(), static_cast<int>(name.size() - 1), index),
                "hipDeviceGetPCIBusId");
  address_ = name.data();
  caller_.check(call().hipDeviceGetAttribute(&compute_units_, multiprocessor_count, index), "hipDeviceGetAttribute");
  caller_.check(call().hipStreamCreateWithFlags(&default_stream_, shared ? stream_non_blocking : stream_default),
                "hipStreamCreateWithFlags");
}

HipDevice::~HipDevice() {
  destroy_stream(default_stream_);
}

void HipDevice::bind() {
  caller_.check(call().hipSetDevice(caller_.device), "hipSetDevice");
}

void* HipDevice::allocate(std::size_t bytes) {
  const std::size_t at_least_one = bytes ? bytes : 1;
  void* memory = nullptr;
  caller_.check(call().hipExtMallocWithFlags(&memory, at_least_one, malloc_fine_grained), "hipExtMallocWithFlags",
                byte_count(at_least_one));
  try {
    fill(memory, 0, at_least_one, nullptr);
  } catch (...) {
    release(memory);
    throw;
  }
  return memory;
}

/// Memory that does not grow, and that no other process maps, is what hipMalloc gives: on AMD the GPU caches it, and
/// virtual memory not.
std::unique_ptr<MemoryRange> HipDevice::reserve(const RangeOptions& options) {
  const Clear clear = [this](void* memory, std::size_t bytes) { fill(memory, 0, bytes, nullptr); };
  const bool is_virtual = has_virtual_memory() && (options.grows || options.among_processes);
  if (is_virtual) return std::make_unique<VirtualRange>(caller_, options, clear);
  return std::make_unique<SingleAllocation>(caller_, options, clear);
}

/// Unasked no further than it is: a GPU's memory is other allocators', too.
MemoryGrowth HipDevice::growth() const {
  if (has_virtual_memory()) return {};
  return {.refusal = caller_.api->description + " has no virtual memory in which GPUs see one another's stores"};
}

// The releases run in destructors, perhaps on another thread than the rank's, so they make the device current
// themselves. Nobody can act on their failure.

void HipDevice::release(void* memory) noexcept {
  if (call().hipSetDevice(caller_.device) == success) call().hipFree(memory);
}

void* HipDevice::allocate_host(std::size_t bytes) {
  const std::size_t at_least_one = bytes ? bytes : 1;
  void* memory = nullptr;
  caller_.check(
      call().hipHostMalloc(&memory, at_least_one, host_malloc_portable | host_malloc_mapped | host_malloc_coherent),
      "hipHostMalloc", byte_count(at_least_one));
  std::memset(memory, 0, at_least_one);
  return memory;
}

void HipDevice::release_host(void* memory) noexcept {
  if (call().hipSetDevice(caller_.device) == success) call().hipHostFree(memory);
}

Stream HipDevice::create_stream() {
  StreamHandle stream = nullptr;
  caller_.check(call().hipStreamCreateWithFlags(&stream, stream_non_blocking), "hipStreamCreateWithFlags");
  OwnedStream owned(stream, {this});
  if (shared_) use_once(stream);
  return owned.release();
}

/// A stream's first use, for which a wait for an event does not count, may wait until kernels of others have ended, as
/// it was seen to on CUDA 13. Where ranks share a GPU, those may wait for what this one brings.
void HipDevice::use_once(Stream stream) {
  const OwnedEvent event = make_event(*this);
  record(event.get(), stream);
  synchronize(stream);
}

void HipDevice::destroy_stream(Stream stream) noexcept {
  if (call().hipSetDevice(caller_.device) == success) call().hipStreamDestroy(stream);
}

void HipDevice::copy(void* destination, const void* source, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  enqueue_copy(destination, source, bytes, stream);
  synchronize(stream);
}

void HipDevice::fill(void* destination, unsigned char value, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  caller_.check(call().hipMemsetAsync(destination, value, bytes, or_default(stream)), "hipMemsetAsync",
                byte_count(bytes));
  synchronize(stream);
}

void HipDevice::enqueue_copy(void* destination, const void* source, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  // A copy engine takes copies in the order in which they were enqueued. One that waits for this rank's kernel would
  // hold up those of another rank on the same GPU, for which that kernel waits.
  if (shared_) synchronize(stream);
  caller_.check(call().hipMemcpyAsync(destination, source, bytes, copy_default, or_default(stream)), "hipMemcpyAsync",
                byte_count(bytes));
}

std::unique_ptr<Module> HipDevice::load(const CodeObject& code) {
  if (code.target != target_)
    throw std::runtime_error("rank " + std::to_string(caller_.rank) + " cannot load code for " + code.target +
                             ": its device is " + target_);
  return std::make_unique<HipModule>(caller_, code);
}

int HipDevice::resident_blocks(const Function& function, int threads) {
  int blocks = 0;
  caller_.check(call().hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, handle_of(function), threads, 0),
                "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", std::to_string(threads) + " threads");
  return blocks * compute_units_;
}

void HipDevice::leave_shared_memory(const Function& function) {
  if (caller_.api->leave_shared_memory == nullptr) return;
  caller_.check(caller_.api->leave_shared_memory(handle_of(function)), "cuFuncSetAttribute");
}

void HipDevice::launch(const Function& function, const LaunchConfig& config, std::span<const ArgumentBytes> arguments) {
  std::array<void*, max_arguments> pointers{};
  // The library only reads the arguments; its declaration lacks the const.
  for (std::size_t i = 0; i < arguments.size(); ++i) pointers.at(i) = const_cast<void*>(arguments[i].data);
  const auto blocks = static_cast<unsigned>(config.blocks);
  const auto threads = static_cast<unsigned>(config.threads);
  const StreamHandle stream = or_default(config.stream);
  const Error error = config.dependent && !shared_ && caller_.api->launch_dependent
                          ? caller_.api->launch_dependent(handle_of(function), blocks, threads, stream, pointers.data())
                          : call().hipModuleLaunchKernel(handle_of(function), blocks, 1, 1, threads, 1, 1, 0, stream,
                                                         pointers.data(), nullptr);
  if (error == success) return;  // the words below are not for the common case
  caller_.check(error, "hipModuleLaunchKernel",
                "kernel " + std::string(config.name) + ", " + std::to_string(config.blocks) + " blocks of " +
                    std::to_string(config.threads) + " threads");
}

device::TensorMap HipDevice::tensor_map(const MatrixLayout& layout) {
  const auto known = std::ranges::find(known_maps_, layout, &KnownMap::layout);
  if (known != known_maps_.end()) return known->map;
  const KnownMap made = {layout, encode(layout)};
  if (known_maps_.size() < most_known_maps) {
    known_maps_.push_back(made);
  } else {
    known_maps_[oldest_map_] = made;
    oldest_map_ = (oldest_map_ + 1) % most_known_maps;
  }
  return made.map;
}

device::TensorMap HipDevice::encode(const MatrixLayout& layout) {
  if (caller_.api->encode_tensor_map == nullptr) return Device::tensor_map(layout);
  if (std::max(layout.rows, layout.columns) > INT32_MAX) {
    throw std::runtime_error("a matrix of " + std::to_string(layout.rows) + " x " + std::to_string(layout.columns) +
                             " elements is too long for tensor copies, which count to 2^31");
  }
  const auto unsigned_of = [](std::int64_t value) { return static_cast<unsigned long long>(value); };
  const unsigned long long columns = unsigned_of(layout.columns);
  const unsigned long long rows = unsigned_of(layout.rows);
  device::TensorMap map{};
  caller_.check(caller_.api->encode_tensor_map(
                    &map, layout.data, static_cast<unsigned>(layout.element_bytes), {columns, rows},
                    {static_cast<unsigned>(layout.box_columns), static_cast<unsigned>(layout.box_rows)}),
                "cuTensorMapEncodeTiled",
                std::to_string(layout.rows) + " x " + std::to_string(layout.columns) + " elements of " +
                    byte_count(static_cast<std::size_t>(layout.element_bytes)));
  return map;
}

void HipDevice::synchronize(Stream stream) {
  caller_.check(call().hipStreamSynchronize(or_default(stream)), "hipStreamSynchronize");
}

Event HipDevice::create_event() {
  EventHandle event = nullptr;
  caller_.check(call().hipEventCreateWithFlags(&event, event_default), "hipEventCreateWithFlags");
  return event;
}

void HipDevice::destroy_event(Event event) noexcept {
  if (call().hipSetDevice(caller_.device) == success) call().hipEventDestroy(event);
}

void HipDevice::record(Event event, Stream stream) {
  caller_.check(call().hipEventRecord(event, or_default(stream)), "hipEventRecord");
}

void HipDevice::wait(Event event, Stream stream) {
  caller_.check(call().hipStreamWaitEvent(or_default(stream), event, 0), "hipStreamWaitEvent");
}

double HipDevice::milliseconds(Event start, Event stop) {
  caller_.check(call().hipEventSynchronize(start), "hipEventSynchronize");
  caller_.check(call().hipEventSynchronize(stop), "hipEventSynchronize");
  float elapsed = 0;
  caller_.check(call().hipEventElapsedTime(&elapsed, start, stop), "hipEventElapsedTime");
  return static_cast<double>(elapsed);
}

// Other ranks' threads may go on with what a capture forbids to its own.
void HipDevice::begin_capture(Stream stream) {
  caller_.check(call().hipStreamBeginCapture(or_default(stream), capture_thread_local), "hipStreamBeginCapture");
}

Graph HipDevice::end_capture(Stream stream) {
  GraphHandle graph = nullptr;
  caller_.check(call().hipStreamEndCapture(or_default(stream), &graph), "hipStreamEndCapture");
  GraphHandle executable = nullptr;
  const Error error = call().hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
  call().hipGraphDestroy(graph);
  caller_.check(error, "hipGraphInstantiate");
  return executable;
}

bool HipDevice::is_capturing(Stream stream) {
  CaptureStatus status = capture_none;
  caller_.check(call().hipStreamIsCapturing(or_default(stream), &status), "hipStreamIsCapturing");
  return status != capture_none;
}

void HipDevice::launch_graph(Graph graph, Stream stream) {
  caller_.check(call().hipGraphLaunch(graph, or_default(stream)), "hipGraphLaunch");
}

void HipDevice::destroy_graph(Graph graph) noexcept {
  if (call().hipSetDevice(caller_.device) == success) call().hipGraphExecDestroy(graph);
}

}  // namespace iris::hip
