#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "iris/device.hpp"
#include "runtime/hip/caller.hpp"
#include "runtime/hip/foreign_memory.hpp"

namespace iris::hip {

/// One rank's view of a GPU. Each has a stream of its own as the default one. It is in order with the library's null
/// stream, into which programs enqueue when they name none (PyTorch's default stream is that one); but not where ranks
/// share a device, since their kernels wait for one another, and would stand behind one another in the null stream.
///
/// Allocating, freeing and loading may wait until every kernel on the physical device has ended (CUDA's do), so none of
/// them may be called while a kernel of a rank on the same device waits for this rank's launch.
class HipDevice final : public Device {
 public:
  /// `shared`: another rank of this process has the same GPU.
  HipDevice(const Api& api, int rank, int index, std::string target, bool shared);
  ~HipDevice() override;
  HipDevice(const HipDevice&) = delete;
  HipDevice& operator=(const HipDevice&) = delete;

  std::string target() const override { return target_; }
  std::string description() const override { return description_; }
  int index() const override { return caller_.device; }
  std::string address() const override { return address_; }
  int compute_units() const override { return compute_units_; }

  void bind() override;

  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  std::unique_ptr<MemoryRange> reserve(const RangeOptions& options) override;
  MemoryGrowth growth() const override;
  std::string sharing() const override { return has_virtual_memory() ? "virtual memory" : "IPC handles"; }
  void open_to_devices(void* memory, std::size_t bytes, std::span<const int> devices) override {
    foreign_memory_.open_to_devices(memory, bytes, devices);
  }
  ExportedMemory export_adopted(void* memory, std::size_t bytes) override {
    return foreign_memory_.export_range(memory, bytes);
  }
  void* import_adopted(const ExportedMemory& exported, std::size_t) override {
    return foreign_memory_.import_range(exported);
  }
  void release_adopted(void* memory) noexcept override { foreign_memory_.release(memory); }
  std::uint64_t allocation_of(const void* memory) const noexcept override {
    return foreign_memory_.allocation_of(memory);
  }
  void* allocate_host(std::size_t bytes) override;
  void release_host(void* memory) noexcept override;

  Stream create_stream() override;
  void destroy_stream(Stream stream) noexcept override;
  void copy(void* destination, const void* source, std::size_t bytes, Stream stream) override;
  void fill(void* destination, unsigned char value, std::size_t bytes, Stream stream) override;
  void enqueue_copy(void* destination, const void* source, std::size_t bytes, Stream stream) override;

  std::unique_ptr<Module> load(const CodeObject& code) override;
  int resident_blocks(const Function& function, int threads) override;
  void leave_shared_memory(const Function& function) override;
  void launch(const Function& function, const LaunchConfig& config, std::span<const ArgumentBytes> arguments) override;
  device::TensorMap tensor_map(const MatrixLayout& layout) override;
  void synchronize(Stream stream) override;

  Event create_event() override;
  void destroy_event(Event event) noexcept override;
  void record(Event event, Stream stream) override;
  void wait(Event event, Stream stream) override;
  double milliseconds(Event start, Event stop) override;

  void begin_capture(Stream stream) override;
  Graph end_capture(Stream stream) override;
  bool is_capturing(Stream stream) override;
  void launch_graph(Graph graph, Stream stream) override;
  void destroy_graph(Graph graph) noexcept override;

 private:
  void use_once(Stream stream);
  device::TensorMap encode(const MatrixLayout& layout);
  bool has_virtual_memory() const { return caller_.api->shareable_memory != 0; }

  const Functions& call() const { return caller_.api->call; }
  Stream or_default(Stream stream) const { return stream ? stream : default_stream_; }

  Caller caller_;
  std::string target_;
  bool shared_;
  std::string description_;
  std::string address_;
  int compute_units_ = 0;
  ForeignMemory foreign_memory_{caller_};
  StreamHandle default_stream_ = nullptr;

  /// Tensor maps of late, since to encode one takes as long as a fifth of a launch. They depend on the layout alone.
  struct KnownMap {
    MatrixLayout layout;
    device::TensorMap map;
  };
  static constexpr std::size_t most_known_maps = 32;
  std::vector<KnownMap> known_maps_;
  std::size_t oldest_map_ = 0;
};

}  // namespace iris::hip
