#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "iris/device.hpp"
#include "runtime/host/adopted_pages.hpp"
#include "runtime/host/engine.hpp"
#include "runtime/host/module.hpp"
#include "runtime/host/page_range.hpp"
#include "runtime/system/address_space.hpp"
#include "runtime/system/host_memory.hpp"

namespace iris {

namespace {

using host::Engine;
using host::HostEvent;
using host::HostFunction;
using host::HostModule;
using host::HostStream;

/// One rank's view of the CPU. Memory is the process's; kernels run in the engine that all ranks share.
class HostDevice final : public Device {
 public:
  HostDevice(std::shared_ptr<Engine> engine, int rank)
      : engine_(std::move(engine)), rank_(rank), default_stream_(engine_->create_stream(rank)) {}
  ~HostDevice() override {
    engine_->destroy_stream(default_stream_);
    while (!mappings_.empty()) release(mappings_.begin()->first);
    while (!adopted_.empty()) release_adopted(adopted_.begin()->first);
  }
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  std::string target() const override { return "host"; }
  std::string description() const override { return "CPU (fibers)"; }
  int index() const override { return 0; }
  std::string address() const override { return "CPU, rank " + std::to_string(rank_); }  // whose engine is its own
  int compute_units() const override { return 1; }
  void bind() override {}

  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  std::unique_ptr<MemoryRange> reserve(const RangeOptions& options) override {
    return std::make_unique<host::PageRange>(engine_, rank_, options);
  }
  MemoryGrowth growth() const override;
  std::uint64_t available_bytes() const override { return available_memory(); }
  std::string sharing() const override { return "memory files"; }
  void open_to_devices(void*, std::size_t, std::span<const int>) override {}
  ExportedMemory export_adopted(void* memory, std::size_t bytes) override;
  void* import_adopted(const ExportedMemory& exported, std::size_t bytes) override {
    return map(bytes, MAP_SHARED | MAP_NORESERVE, exported.files.at(0));
  }
  void release_adopted(void* memory) noexcept override;
  void* allocate_host(std::size_t bytes) override { return allocate(bytes); }
  void release_host(void* memory) noexcept override { release(memory); }

  Stream create_stream() override { return *streams_.insert(engine_->create_stream(rank_)).first; }
  void destroy_stream(Stream stream) noexcept override;
  void copy(void* destination, const void* source, std::size_t bytes, Stream stream) override;
  void fill(void* destination, unsigned char value, std::size_t bytes, Stream stream) override;
  void enqueue_copy(void* destination, const void* source, std::size_t bytes, Stream stream) override;

  std::unique_ptr<Module> load(const CodeObject& code) override { return std::make_unique<HostModule>(code); }
  int resident_blocks(const Function& function, int threads) override;
  void launch(const Function& function, const LaunchConfig& config, std::span<const ArgumentBytes> arguments) override;
  void synchronize(Stream stream) override { engine_->synchronize(queue(stream)); }

  Event create_event() override { return *events_.insert(new RecordedEvent{std::make_shared<HostEvent>()}).first; }
  void destroy_event(Event event) noexcept override {
    events_.erase(static_cast<RecordedEvent*>(event));
    delete static_cast<RecordedEvent*>(event);
  }
  void record(Event event, Stream stream) override;
  void wait(Event event, Stream stream) override;
  double milliseconds(Event start, Event stop) override;

 private:
  struct RecordedEvent {
    std::shared_ptr<HostEvent> event;  // streams may come to it after its end
    HostStream* stream = nullptr;      // that it was last recorded in
  };

  HostStream& queue(Stream stream) const;

  std::shared_ptr<Engine> engine_;
  int rank_;
  HostStream* default_stream_;
  std::set<HostStream*> streams_;  ///< the rank's other ones
  std::set<RecordedEvent*> events_;
  struct Mapping {
    std::size_t bytes;
    bool shared;  ///< with other processes
  };
  void* map(std::size_t bytes, int flags, int file);
  std::map<void*, Mapping> mappings_;
  std::map<void*, host::AdoptedPages> adopted_;
};

void HostDevice::destroy_stream(Stream stream) noexcept {
  auto* host_stream = static_cast<HostStream*>(stream);
  if (streams_.erase(host_stream) == 0) return;
  for (RecordedEvent* event : events_) {  // it had to be done: nobody need wait for what was recorded in it
    if (event->stream == host_stream) event->stream = default_stream_;
  }
  engine_->destroy_stream(host_stream);
}

HostStream& HostDevice::queue(Stream stream) const {
  if (stream == nullptr) return *default_stream_;
  auto* host_stream = static_cast<HostStream*>(stream);
  if (streams_.contains(host_stream)) return *host_stream;
  throw std::runtime_error("rank " + std::to_string(rank_) +
                           " is given a stream that is not its own, or that was destroyed; take one from its "
                           "Device::create_stream");
}

void* HostDevice::allocate(std::size_t bytes) {
  return map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

/// As far as the machine's memory goes. Addresses that are reserved cost nothing, but where they are counted, and where
/// a sanitizer has its own use for them.
MemoryGrowth HostDevice::growth() const {
  constexpr std::size_t most = std::size_t{64} << 30;
  if (address_space_left().has_value()) return {};
  const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
  return {.limit = std::min(most, pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))};
}

ExportedMemory HostDevice::export_adopted(void* memory, std::size_t bytes) {
  const auto adopted = adopted_.try_emplace(memory, memory, bytes).first;
  try {
    const int file = ::fcntl(adopted->second.file().get(), F_DUPFD_CLOEXEC, 0);
    if (file < 0) {
      throw std::runtime_error("rank " + std::to_string(rank_) + " cannot share its memory: " + std::strerror(errno));
    }
    engine_->share(memory, bytes);
    return {.files = {file}, .sizes = {bytes}};
  } catch (...) {
    adopted_.erase(adopted);
    throw;
  }
}

void HostDevice::release_adopted(void* memory) noexcept {
  if (!adopted_.contains(memory)) return release(memory);
  engine_->unshare(memory);
  adopted_.erase(memory);
}

/// Of a file, or of nothing if there is none.
void* HostDevice::map(std::size_t bytes, int flags, int file) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error("rank " + std::to_string(rank_) + " cannot map " + std::to_string(bytes) +
                             " bytes of memory on host: " + std::strerror(errno));
  }
  const bool shared = (flags & MAP_SHARED) != 0;
  if (shared) engine_->share(memory, size);
  mappings_.emplace(memory, Mapping{size, shared});
  return memory;
}

void HostDevice::release(void* memory) noexcept {
  const auto found = mappings_.find(memory);
  if (found == mappings_.end()) return;
  if (found->second.shared) engine_->unshare(memory);
  ::munmap(found->first, found->second.bytes);
  mappings_.erase(found);
}

void HostDevice::copy(void* destination, const void* source, std::size_t bytes, Stream stream) {
  engine_->synchronize(queue(stream));
  if (bytes > 0) std::memcpy(destination, source, bytes);
}

void HostDevice::fill(void* destination, unsigned char value, std::size_t bytes, Stream stream) {
  engine_->synchronize(queue(stream));
  if (bytes > 0) std::memset(destination, value, bytes);
}

void HostDevice::enqueue_copy(void* destination, const void* source, std::size_t bytes, Stream stream) {
  if (bytes > 0) engine_->enqueue(queue(stream), {destination, source, bytes});
}

int HostDevice::resident_blocks(const Function&, int threads) {
  return static_cast<int>(host::max_device_threads / static_cast<std::size_t>(std::max(threads, 1)));
}

void HostDevice::launch(const Function& function, const LaunchConfig& config,
                        std::span<const ArgumentBytes> arguments) {
  if (config.blocks < 1 || config.threads < 1) {
    throw std::runtime_error(std::string(config.name) + ": rank " + std::to_string(rank_) + " launches " +
                             std::to_string(config.blocks) + " blocks of " + std::to_string(config.threads) +
                             " threads; both must be at least 1");
  }
  const std::size_t threads = static_cast<std::size_t>(config.blocks) * static_cast<std::size_t>(config.threads);
  if (threads > host::max_device_threads) {
    throw std::runtime_error(std::string(config.name) + ": rank " + std::to_string(rank_) + " launches " +
                             std::to_string(threads) + " device threads; the CPU engine runs at most " +
                             std::to_string(host::max_device_threads) + " at a time, so lower blocks or threads");
  }
  auto grid =
      std::make_unique<host::Grid>(std::string(config.name), rank_, static_cast<const HostFunction&>(function).entry,
                                   host::LaunchArguments(arguments), config.blocks, config.threads, config.timeout_ns);
  grid->ranks.assign(config.ranks.begin(), config.ranks.end());
  engine_->enqueue(queue(config.stream), std::move(grid));
}

void HostDevice::record(Event event, Stream stream) {
  auto& recorded = *static_cast<RecordedEvent*>(event);
  recorded.stream = &queue(stream);
  engine_->record(*recorded.stream, recorded.event);
}

void HostDevice::wait(Event event, Stream stream) {
  engine_->wait(queue(stream), static_cast<RecordedEvent*>(event)->event);
}

double HostDevice::milliseconds(Event start, Event stop) {
  const auto& first = *static_cast<RecordedEvent*>(start);
  const auto& second = *static_cast<RecordedEvent*>(stop);
  if (first.stream == nullptr || second.stream == nullptr) throw std::runtime_error("an event was never recorded");
  engine_->synchronize(*first.stream);
  engine_->synchronize(*second.stream);
  return std::chrono::duration<double, std::milli>(second.event->time - first.event->time).count();
}

}  // namespace

namespace {

/// In a process that fork() has made there is no thread to join, and whoever waits for it to leave waits for ever.
std::shared_ptr<Engine> owned(Engine* engine) {
  const auto end = [process = ::getpid()](Engine* ended) {
    if (::getpid() == process) delete ended;
  };
  return {engine, end};
}

}  // namespace

DeviceGroup open_host_devices(int ranks, std::uint64_t seed, SourceLocator locate, StoreWatch* watch) {
  const std::shared_ptr<Engine> engine = owned(new Engine(ranks, seed, std::move(locate), watch));
  DeviceGroup group;
  for (int rank = 0; rank < ranks; ++rank) group.devices.push_back(std::make_unique<HostDevice>(engine, rank));
  group.ranks_per_device = {ranks};
  group.observer = engine;
  return group;
}

DeviceGroup open_host_device(const HostProcess& process, std::uint64_t seed, SourceLocator locate) {
  DeviceGroup group;
  group.devices.push_back(
      std::make_unique<HostDevice>(owned(new Engine(process, seed, std::move(locate))), process.rank));
  group.ranks_per_device = {1};
  return group;
}

}  // namespace iris
