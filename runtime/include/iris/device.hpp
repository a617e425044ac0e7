#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "iris/code_object.hpp"
#include "iris/device/abi.hpp"

namespace iris {

/// An entry of a loaded module. Owned by its Module. Each kind of device derives its own, and is handed back only what
/// came from its own modules.
struct Function {};

/// A loaded code object; unloads on destruction.
class Module {
 public:
  virtual ~Module() = default;
  /// Throws std::runtime_error naming the symbol if it is not there.
  virtual const Function& function(const std::string& symbol) = 0;
};

/// An in-order queue of a device. Null is the rank's own default stream. On a GPU that no other rank of this process
/// has, that is in order with the null stream of HIP or CUDA, so that a program may pass either.
using Stream = void*;
/// A point in a stream.
using Event = void*;
/// What was captured in a stream, to be enqueued again as a whole.
using Graph = void*;

/// Grid and block of a launch, and the arguments: one pointer to each argument's bytes, with its size.
struct LaunchConfig {
  std::string_view name;  ///< the kernel's, for messages
  int blocks = 1;
  int threads = 1;
  Stream stream = nullptr;
  std::uint64_t timeout_ns = 0;     ///< of its waits, for devices that keep time for them
  std::span<const int> ranks = {};  ///< of the world, by those that the kernel knows; empty: the same
  bool dependent = false;           ///< the kernel itself waits for what its stream has before it
};
struct ArgumentBytes {
  const void* data;
  std::size_t size;
};
/// A matrix without gaps, for Device::tensor_map: elements of 1 or 2 bytes, or of 4, which are f32 that copies round to
/// tf32; the data is aligned to 16 bytes, and so is each row.
struct MatrixLayout {
  const void* data;
  std::int64_t element_bytes;
  std::int64_t rows;
  std::int64_t columns;
  int box_rows = 1;  ///< of one copy
  int box_columns = 1;
  bool operator==(const MatrixLayout&) const = default;
};
/// Memory as another process is told of it, to address it, too.
struct ExportedMemory {
  std::vector<int> files = {};          ///< open, to be mapped side by side; whoever has them closes them
  std::vector<std::size_t> sizes = {};  ///< of each, in bytes
  std::string handle = {};              ///< where no file stands for it: of the GPU's library
  std::size_t offset = 0;               ///< of the memory in what files or handle stand for
};
/// Addresses that stay where they are, and memory that is mapped to them in pieces, from the first address on without
/// gaps: a rank's symmetric heap, or a peer's as it is addressed from here. Its end gives all of it back. The device is
/// current in calls that may throw.
class MemoryRange {
 public:
  MemoryRange() = default;
  virtual ~MemoryRange() = default;
  MemoryRange(const MemoryRange&) = delete;
  MemoryRange& operator=(const MemoryRange&) = delete;

  /// 256-byte aligned. Of a range that does not grow, null until its piece is mapped.
  virtual char* begin() const = 0;
  /// Pieces are of multiples of so many bytes.
  virtual std::size_t unit() const = 0;
  /// Maps memory of the device behind the last piece, zeroed. If it throws, all is as it was.
  virtual void add(std::size_t bytes) = 0;
  /// Maps the same that a file of another process's export_piece() stands for.
  virtual void add_imported(int file, std::size_t bytes) = 0;
  /// An open file that stands for the piece of this number, counted from 0 on; whoever asks for it closes it.
  virtual int export_piece(std::size_t number) = 0;
  /// Gives the last piece back. Addresses stay reserved.
  virtual void remove_last() noexcept = 0;
};
struct RangeOptions {
  std::size_t bytes = 0;          ///< of addresses
  bool grows = true;              ///< false: it is one piece, of this length
  bool among_processes = false;   ///< pieces come from another process, or go to one
  std::vector<int> devices = {};  ///< of this process, by index, from which it is addressed beside this one
};
/// Whether memory that is mapped to a MemoryRange can grow there.
struct MemoryGrowth {
  std::string refusal = {};  ///< why not; empty if it can
  std::size_t limit = 0;     ///< to which heaps grow where the program names no limit; 0: they do not
};
/// One rank's view of one GPU, or of the CPU. Called from the rank's own thread; every call that can fail throws
/// std::runtime_error with a sentence that names the call, the rank and the device.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string target() const = 0;       ///< what it runs, as irisgen names targets: host, gfx942, sm_90a
  virtual std::string description() const = 0;  ///< "NVIDIA H200", "CPU (fibers)"
  virtual int index() const = 0;                ///< of the physical device
  virtual std::string address() const = 0;      ///< of the same, in every process of this host alike
  virtual int compute_units() const = 0;

  /// Makes this the calling thread's current device.
  virtual void bind() = 0;

  /// Device memory that every peer can address; 256-byte aligned, zeroed. Fine-grained where that is a choice.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Addresses for a heap. Throws if there are not so many.
  virtual std::unique_ptr<MemoryRange> reserve(const RangeOptions& options) = 0;
  virtual MemoryGrowth growth() const = 0;
  /// What the ranks of this machine may still take together of memory that is all theirs; the largest number where
  /// only the attempt tells.
  virtual std::uint64_t available_bytes() const { return std::numeric_limits<std::uint64_t>::max(); }
  /// By what processes share memory: "IPC handles".
  virtual std::string sharing() const = 0;
  /// Memory that this device did not allocate becomes addressable from the devices with these indexes, of this process.
  virtual void open_to_devices(void* memory, std::size_t bytes, std::span<const int> devices) = 0;
  /// It becomes addressable from other processes of this host, until release_adopted() of the same address.
  virtual ExportedMemory export_adopted(void* memory, std::size_t bytes) = 0;
  /// Where that lies here which another process has exported, until release_adopted() of what this returns.
  virtual void* import_adopted(const ExportedMemory& exported, std::size_t bytes) = 0;
  virtual void release_adopted(void* memory) noexcept = 0;
  /// A number of the allocation in which this lies, which no later one of this process has. 0 where that is not known.
  virtual std::uint64_t allocation_of(const void* /*memory*/) const noexcept { return 0; }
  /// Host memory that device and host both address, zeroed.
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void release_host(void* memory) noexcept = 0;

  virtual Stream create_stream() = 0;
  /// Only after Context::synchronize(stream), if kernels were launched into it.
  virtual void destroy_stream(Stream stream) noexcept = 0;
  /// Ordered in the stream, and complete on return.
  virtual void copy(void* destination, const void* source, std::size_t bytes, Stream stream = nullptr) = 0;
  virtual void fill(void* destination, unsigned char value, std::size_t bytes, Stream stream = nullptr) = 0;
  /// Ordered in the stream; returns at once, but where ranks share a GPU when what stands before it is done. Between
  /// device memories of this rank and its peers, by the copy engine.
  virtual void enqueue_copy(void* destination, const void* source, std::size_t bytes, Stream stream) = 0;

  virtual std::unique_ptr<Module> load(const CodeObject& code) = 0;
  /// Blocks of this many threads that the whole device holds at once.
  virtual int resident_blocks(const Function& function, int threads) = 0;
  /// Where shared memory and a cache are cut from one memory: has compute units that run the function cut as much
  /// shared memory as they can, so that blocks of other kernels, which need it, run beside its own.
  virtual void leave_shared_memory(const Function& /*function*/) {}
  virtual void launch(const Function& function, const LaunchConfig& config,
                      std::span<const ArgumentBytes> arguments) = 0;
  virtual void synchronize(Stream stream = nullptr) = 0;
  /// What kernels pass to their tensor copies. Throws where a device has none.
  virtual device::TensorMap tensor_map(const MatrixLayout&) {
    throw std::runtime_error(description() + " has no tensor copies");
  }

  /// A point in a stream, recorded anew as often as one likes.
  virtual Event create_event() = 0;
  virtual void destroy_event(Event event) noexcept = 0;
  virtual void record(Event event, Stream stream) = 0;
  /// What is enqueued in the stream from now on waits for the event's last recording.
  virtual void wait(Event event, Stream stream) = 0;
  /// Between two recorded events, on the device's clock. Waits for both.
  virtual double milliseconds(Event start, Event stop) = 0;

  /// What this thread enqueues in the stream from now on, and in streams that wait for its events, is captured instead
  /// of enqueued, until the same thread ends the capture, which it does after a failure, too. Nothing that waits for
  /// the device may stand in between. Throws where a device has no graphs. A graph belongs to the caller, who destroys
  /// it when no launch of it is under way.
  virtual void begin_capture(Stream) { throw std::runtime_error(description() + " has no graphs"); }
  virtual Graph end_capture(Stream) { throw std::runtime_error(description() + " has no graphs"); }
  /// Whether what is enqueued in the stream now is captured, whoever began that.
  virtual bool is_capturing(Stream) { return false; }
  virtual void launch_graph(Graph, Stream) { throw std::runtime_error(description() + " has no graphs"); }
  virtual void destroy_graph(Graph) noexcept {}
};

/// Ends a stream or event of a device, which outlives them. As of Device::destroy_stream.
struct DestroyStream {
  Device* device;
  void operator()(Stream stream) const noexcept { device->destroy_stream(stream); }
};
struct DestroyEvent {
  Device* device;
  void operator()(Event event) const noexcept { device->destroy_event(event); }
};
using OwnedStream = std::unique_ptr<void, DestroyStream>;
using OwnedEvent = std::unique_ptr<void, DestroyEvent>;
inline OwnedStream make_stream(Device& device) {
  return {device.create_stream(), {&device}};
}
inline OwnedEvent make_event(Device& device) {
  return {device.create_event(), {&device}};
}

/// Told when a rank's own thread can issue work and when it cannot. The CPU engine runs kernels only while no rank can,
/// so that what they do never depends on the operating system's scheduling. May be called from any thread.
class RankObserver {
 public:
  virtual ~RankObserver() = default;
  virtual void resumed(int rank) = 0;
  /// `doing` completes "rank 2 …" in reports: "has ended", "waits in allocate(1024 bytes)".
  virtual void parked(int rank, std::string doing) = 0;
};

/// The devices of one World, one for each rank, able to address one another. `ranks` may exceed the number of physical
/// devices: they are given out in turn, and resident-block checks count all ranks of a device.
struct DeviceGroup {
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<int> ranks_per_device;                 ///< indexed by Device::index()
  std::shared_ptr<RankObserver> observer = nullptr;  ///< null where nobody needs to know
};

/// What line of a source an instruction of a kernel's library comes from, given the library's path and its offset
/// there: `halo.hip:12:3`; empty if that is not known.
using SourceLocator = std::function<std::string(const std::string& library, std::uint64_t offset)>;

/// Memory whose last store by a kernel is to be told. It is seen on the CPU alone, and in kernels that were built for
/// it (build_watched_operation). May be changed while no kernel runs.
struct StoreWatch {
  const void* memory = nullptr;
  std::size_t bytes = 0;

  struct Store {
    int rank = 0;  ///< that stored, perhaps into the memory of another
    int block = 0;
    int thread = 0;
    std::string place = {};  ///< as SourceLocator says it
  };
  std::optional<Store> last = {};  ///< nothing: there was none
};

/// The CPU, with a seeded order of execution (runtime/host). Reports of deadlocks, and `watch` if there is one, name
/// lines where `locate` does; `watch` must outlive the devices. Throws if this build has no host support.
DeviceGroup open_host_devices(int ranks, std::uint64_t seed, SourceLocator locate = {}, StoreWatch* watch = nullptr);

/// One rank's CPU in a world of processes, which share memory. What another process will do is not known here: kernels
/// run while it lasts, whatever this process's thread does, and a wait for another rank is bounded by the clock, or
/// ends when `absence` says why that rank will do no more.
struct HostProcess {
  int rank = 0;
  int size = 1;
  std::function<std::string(int rank)> absence;
};
DeviceGroup open_host_device(const HostProcess& process, std::uint64_t seed, SourceLocator locate = {});

/// GPUs through the HIP table (runtime/hip). Throws a sentence that says what is missing: library, driver, device, peer
/// access.
DeviceGroup open_hip_devices(int ranks);

/// The GPU of one rank in a world of processes: that of this number, counted round those that this process sees.
DeviceGroup open_hip_device(int rank, int number);

/// What `irisgen doctor` and `list` tell of this machine.
struct DeviceInfo {
  int index;
  std::string description;
  std::string target;  ///< gfx942, sm_90; may be one that irisgen does not know
  int compute_units;
  std::uint64_t memory_bytes;
};
struct DeviceSurvey {
  std::vector<DeviceInfo> gpus;
  std::string api;      ///< "HIP 6.2 (libamdhip64.so.6)", "CUDA 13.0 (libcuda.so.1)"; empty if none
  std::string missing;  ///< why there is none, and what brings it
};
DeviceSurvey survey_gpus();

}  // namespace iris
