#include "iris/kernel.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include <iris/device/abi.hpp>
#include "runtime/launch/launch_check.hpp"
#include "runtime/world/context.hpp"

namespace iris {

namespace {

using irisgen::Extents;
using irisgen::Manifest;

void check_world(const Manifest& manifest, const Context::State& context) {
  const auto ranks = static_cast<int>(context.bases.size());
  if (manifest.abi != device::abi_version) {
    throw std::runtime_error(manifest.name + " was built for version " + std::to_string(manifest.abi) +
                             " of the kernel interface, this irisgen speaks version " +
                             std::to_string(device::abi_version) + "; generate and compile it again");
  }
  if (manifest.world != ranks) {
    throw std::runtime_error(manifest.name + " was made for a world of " + std::to_string(manifest.world) +
                             " ranks, this one has " + std::to_string(ranks));
  }
  if (manifest.target != context.device.target().name) {
    throw std::runtime_error(manifest.name + " was made for " + manifest.target + ", rank " +
                             std::to_string(context.rank) + " is on " + std::string(context.device.target().name));
  }
}

/// Blocks that wait for one another must all be on the device, or those that are wait for ever.
void check_residency(const Manifest& manifest, const Context::State& context, const Function& function) {
  const int fit = context.device.resident_blocks(function, manifest.threads);
  const int ranks = context.ranks_on_device;
  if (std::int64_t{manifest.blocks} * ranks <= fit) return;
  std::string text = manifest.name + ": " + std::to_string(manifest.blocks) + " blocks of " +
                     std::to_string(manifest.threads) + " threads must run together";
  if (ranks > 1) text += " for each of the " + std::to_string(ranks) + " ranks on this device";
  text += ", but " + context.device.description() + " holds " + std::to_string(fit) + "; lower config.blocks to " +
          std::to_string(std::max(fit / ranks, 1)) + " or less, or config.threads";
  throw std::runtime_error(text);
}

/// Memory that goes back to a rank's heap.
struct ReturnToHeap {
  Context::State* context;
  void operator()(char* memory) const { context->free(memory); }
};

/// Memory that goes back to a rank's device as allocate_host gave it.
struct ReturnToDevice {
  Device* device;
  void operator()(device::Fault* fault) const { device->release_host(fault); }
};

}  // namespace

struct Kernel::State {
  State(Context::State& of_context, const BuiltKernel& built, const LaunchExtents& wanted_capacity);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void place_on_heap();
  void launch(std::span<void* const> buffers, const LaunchExtents& given, Stream stream);

  Context::State& context;
  Manifest manifest;
  Extents capacity;
  std::unique_ptr<Module> module;
  const Function* function = nullptr;
  std::unique_ptr<char, ReturnToHeap> memory;
  std::unique_ptr<device::Fault, ReturnToDevice> fault;
  device::Context device_context{};
  LaunchLedger ledger;
};

Kernel::State::State(Context::State& of_context, const BuiltKernel& built, const LaunchExtents& wanted_capacity)
    : context(of_context), manifest(built.manifest) {
  check_world(manifest, context);
  capacity = resolve_extents(manifest, wanted_capacity);
  module = context.device.load(built.code);
  function = &module->function(manifest.symbol);
  check_residency(manifest, context, *function);
  place_on_heap();
}

/// Collective. No peer may signal before our flags are zero, so all meet once they are.
void Kernel::State::place_on_heap() {
  const KernelLayout layout = layout_of(manifest, capacity);
  memory = {static_cast<char*>(
                context.allocate(static_cast<std::size_t>(layout.total()),
                                 "Kernel(" + manifest.symbol + ", " + std::to_string(layout.total()) + " bytes)")),
            ReturnToHeap{&context}};
  fault = {static_cast<device::Fault*>(context.device.allocate_host(sizeof(device::Fault))),
           ReturnToDevice{&context.device}};
  char* base = memory.get();
  ledger = {.kernel = manifest.name,
            .fault = fault.get(),
            .timeout_ns = static_cast<std::uint64_t>(manifest.timeout_ms) * 1'000'000,
            .in_flight = std::nullopt,
            .failure = {}};
  std::ranges::copy(context.bases, device_context.heap);
  device_context.rank = context.rank;
  device_context.world = manifest.world;
  device_context.fault = fault.get();
  device_context.flags = reinterpret_cast<device::u32*>(base);
  device_context.epochs = reinterpret_cast<device::Epoch*>(base + layout.flags);
  device_context.workspace = base + layout.flags + layout.epochs;
  device_context.workspace_bytes = static_cast<device::u64>(layout.workspace);
  device_context.timeout_ns = ledger.timeout_ns;
  context.device.fill(base, 0, static_cast<std::size_t>(layout.flags + layout.epochs));
  context.device.synchronize();
  context.meet("Kernel(" + manifest.symbol + ")");
  context.ledgers.push_back(&ledger);
}

Kernel::State::~State() {
  try {
    context.device.bind();  // we may be on another thread than the rank's, once World::run is over
    if (ledger.in_flight.has_value()) context.synchronize(*ledger.in_flight);
  } catch (const std::exception&) {
    if (context.deferred == nullptr) context.deferred = std::current_exception();
  }
  std::erase(context.ledgers, &ledger);
}

void Kernel::State::launch(std::span<void* const> buffers, const LaunchExtents& given, Stream stream) {
  if (!ledger.failure.empty()) {
    throw std::runtime_error(manifest.name + " cannot be launched again, since its flags are in disorder; make a new " +
                             "Kernel. What happened: " + ledger.failure);
  }
  const Extents extents = resolve_extents(manifest, given);
  check_capacity(manifest, extents, capacity);
  check_buffers(manifest, extents, buffers,
                [this](const void* begin, std::size_t bytes) { return context.on_heap(begin, bytes); });

  std::vector<ArgumentBytes> arguments{{&device_context, sizeof device_context}};
  for (void* const& buffer : buffers) arguments.push_back({static_cast<const void*>(&buffer), sizeof buffer});
  if (manifest.m.dynamic) arguments.push_back({&extents.m, sizeof extents.m});
  if (manifest.n.dynamic) arguments.push_back({&extents.n, sizeof extents.n});
  if (manifest.k.dynamic) arguments.push_back({&extents.k, sizeof extents.k});
  context.device.launch(
      *function, {.name = manifest.name, .blocks = manifest.blocks, .threads = manifest.threads, .stream = stream},
      arguments);
  ledger.in_flight = stream;
}

Kernel::Kernel(Context& context, const BuiltKernel& built, LaunchExtents capacity)
    : state_(std::make_unique<State>(context.state(), built, capacity)) {}

Kernel::~Kernel() = default;
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;

void Kernel::launch(std::span<void* const> buffers, LaunchExtents extents, Stream stream) {
  state_->launch(buffers, extents, stream);
}

const Manifest& Kernel::manifest() const {
  return state_->manifest;
}

}  // namespace iris
