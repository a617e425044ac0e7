#include "iris/operation.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "iris/device/abi.hpp"
#include "runtime/launch/bound_steps.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/launch/launch_tensors.hpp"
#include "runtime/launch/launch_windows.hpp"
#include "runtime/launch/loaded_kernel.hpp"
#include "runtime/system/log.hpp"
#include "runtime/world/agreement.hpp"
#include "runtime/world/group.hpp"

namespace iris {

namespace {

void check_world(const BuiltOperation& built, const Group::State& group) {
  const Manifest& manifest = built.manifest;
  const auto ranks = static_cast<int>(group.ranks.size());
  if (manifest.abi != device::abi_version) {
    throw std::runtime_error(manifest.name + " was built for version " + std::to_string(manifest.abi) +
                             " of the kernel interface, this irisgen speaks version " +
                             std::to_string(device::abi_version) + "; generate and compile it again");
  }
  if (manifest.problem.world != ranks) {
    throw std::runtime_error(manifest.name + " was made for a world of " + std::to_string(manifest.problem.world) +
                             " ranks, " + (group.suffix.empty() ? "this one" : name_group(group.ranks)) + " has " +
                             std::to_string(ranks));
  }
  if (manifest.target != group.context.device.target()) {
    throw std::runtime_error(manifest.name + " was made for " + manifest.target + ", rank " +
                             std::to_string(group.context.rank) + " is on " + group.context.device.target());
  }
  if (built.code.size() != manifest.kernels.size()) {
    throw std::runtime_error(manifest.name + " has " + std::to_string(manifest.kernels.size()) +
                             " kernels, but the code of " + std::to_string(built.code.size()));
  }
}

/// `Operation(symbol, capacity n = 8, 512 bytes)`, by what tells operations apart; without bytes where the capacity is
/// none.
std::string call_of(const Manifest& manifest, const Extents& capacity, const std::optional<OperationLayout>& layout) {
  const std::string& what = manifest.kernels.empty() ? manifest.name : manifest.kernels.front().symbol;
  const std::string words = to_string(capacity);
  return "Operation(" + what + (words.empty() ? "" : ", capacity " + words) +
         (layout ? ", " + std::to_string(layout->total_bytes) + " bytes" : "") + ")";
}

/// "two_shot, 4096 bytes on the heap; gradient_sum_two_shot_w8 with 6 blocks of 512 threads".
std::string describe_load(const Manifest& manifest, const OperationLayout& layout) {
  std::string words = manifest.variant + ", " + std::to_string(layout.total_bytes) + " bytes on the heap";
  if (layout.device_bytes > 0) words += ", " + std::to_string(layout.device_bytes) + " beside it";
  for (const KernelEntry& kernel : manifest.kernels) {
    words += "; " + kernel.symbol + " with " + std::to_string(kernel.blocks) + " blocks of " +
             std::to_string(kernel.threads) + " threads";
  }
  return words;
}

/// Whether ranks wait for one another.
bool waits(const Manifest& manifest) {
  return manifest.problem.world > 1 && std::ranges::any_of(manifest.kernels, &KernelEntry::waits_for_ranks);
}

}  // namespace

struct Operation::State {
  /// Memory that goes back to a rank's heap.
  struct ReturnToHeap {
    Group::State* group;
    void operator()(char* memory) const { group->free(memory, Owner::Kind::operation); }
  };

  /// Memory that goes back to a rank's device as allocate_host, or allocate, gave it.
  struct ReturnToDevice {
    Device* device;
    void operator()(device::Fault* fault) const { device->release_host(fault); }
    void operator()(char* memory) const { device->release(memory); }
  };

  State(const Group& of_group, const BuiltOperation& built, const Extents& wanted_capacity);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void load(const BuiltOperation& built);
  void place_on_heap(const CollectiveCall& call, const OperationLayout& layout);
  void prepare(const OperationLayout& layout);
  void make_streams();

  /// What follows from a launch's extents.
  struct Sized {
    Extents given;
    Extents extents;
    std::vector<std::int64_t> bytes;  ///< of each argument
    std::vector<BoundStep> steps;
  };
  Sized& sized_for(const Extents& given);
  bool is_allocated(const void* begin, std::size_t bytes) const;
  void set_windows(std::span<void* const> arguments, const Sized& sized);
  void check_agreement(std::span<void* const> arguments, const Sized& sized);
  void follow_last_launch(Stream stream);
  void launch(std::span<void* const> arguments, const Extents& given, Stream stream, const Scalars& given_scalars);

  /// The stream of that number, in a launch whose caller's it is.
  Stream stream(int number, Stream callers) const {
    return number == 0 ? callers : streams.at(static_cast<std::size_t>(number - 1)).get();
  }
  void perform(BoundLaunch& launch, int number, Stream callers) const;
  void perform(const BoundCopy& copy, int number, Stream callers) const;
  void perform(const WaitStep* wait, int number, Stream callers) const;

  std::shared_ptr<Group::State> group;  // and the world, which may end before its operations
  Context::State& context;              // of the rank
  Manifest manifest;
  Extents capacity;
  std::vector<LoadedKernel> kernels;
  std::unique_ptr<char, ReturnToHeap> memory;
  std::unique_ptr<char, ReturnToDevice> beside;  ///< what no other rank reaches
  std::unique_ptr<device::Fault, ReturnToDevice> fault;
  NumberedBuffers buffers;
  std::vector<ScalarBytes> scalars;
  bool has_windows = false;          ///< the kernels know of adopted memory
  std::vector<OwnedStream> streams;  ///< number n is at n - 1: number 0 is the caller's
  std::map<const WaitStep*, OwnedEvent> events;
  OwnedEvent end_of_last;  ///< of the last launch, for one in another stream
  LaunchRecord record;
  std::shared_ptr<Agreement> agreement;  ///< of all ranks; none where ranks do not wait for one another
  std::uint64_t launches = 0;

  /// Of late, since the next launch mostly has the extents of one before.
  std::vector<Sized> sizes;
  static constexpr std::size_t most_sizes = 8;
  std::size_t oldest_size = 0;
};

Operation::State::State(const Group& of_group, const BuiltOperation& built, const Extents& wanted_capacity)
    : group(of_group.shared_state()), context(group->context), manifest(built.manifest) {
  std::optional<OperationLayout> layout;
  const std::string refusal = words_of_attempt([&] {
    check_world(built, *group);
    capacity = resolve_capacity(manifest, wanted_capacity);
    layout = layout_of(manifest, capacity);
    scalars.resize(manifest.scalars.size());
    load(built);
  });
  const CollectiveCall call{.call = group->call(call_of(manifest, wanted_capacity, layout)), .state = {}};
  group->collectives->all_gather_or_fail(call, refusal);
  place_on_heap(call, layout.value());
}

void Operation::State::load(const BuiltOperation& built) {
  kernels.reserve(manifest.kernels.size());
  for (std::size_t i = 0; i < manifest.kernels.size(); ++i) kernels.emplace_back(*group, manifest, i, built.code[i]);
  make_streams();
}

/// Collective. No peer may signal before our flags are zero, so all meet once they are.
void Operation::State::place_on_heap(const CollectiveCall& call, const OperationLayout& layout) {
  memory = {static_cast<char*>(
                group->allocate(static_cast<std::size_t>(layout.total_bytes), call.call, Owner::Kind::operation)),
            ReturnToHeap{group.get()}};
  if (waits(manifest)) {
    agreement = std::static_pointer_cast<Agreement>(group->collectives->share_memory(call, sizeof(Agreement)));
  }
  group->collectives->all_gather_or_fail(call, words_of_attempt([&] { prepare(layout); }));
  context.records.push_back(&record);
  log(LogLevel::info, [&] { return "loaded " + manifest.name + ": " + describe_load(manifest, layout); });
}

/// This rank's part of what lies on the heap, and what goes with it.
void Operation::State::prepare(const OperationLayout& layout) {
  fault = {static_cast<device::Fault*>(context.device.allocate_host(sizeof(device::Fault))),
           ReturnToDevice{&context.device}};
  record = {.operation = manifest.name + group->suffix,
            .ranks = group->ranks,
            .fault = fault.get(),
            .timeout_ns = static_cast<std::uint64_t>(manifest.timeout_ms) * 1'000'000,
            .in_flight = std::nullopt,
            .failure = {}};
  for (std::size_t i = 0; i < kernels.size(); ++i) kernels[i].place(memory.get(), layout.kernels[i], fault.get());
  if (layout.device_bytes > 0) {
    const auto bytes = static_cast<std::size_t>(layout.device_bytes);
    beside = {static_cast<char*>(context.device.allocate(bytes)), ReturnToDevice{&context.device}};
  }
  buffers = NumberedBuffers(manifest, layout, memory.get(), beside.get());
  context.device.fill(memory.get(), 0, static_cast<std::size_t>(layout.cleared_bytes));
  context.device.synchronize();
  context.records.reserve(context.records.size() + 1);
}

/// And events: a launch makes nothing, for which a library might wait until the kernels have ended that wait for it.
void Operation::State::make_streams() {
  end_of_last = make_event(context.device);
  for (const Schedule& schedule : manifest.schedules) {
    for (const Step& step : schedule.steps) {
      const auto* wait = std::get_if<WaitStep>(&step.action);
      const int highest = std::max(step.stream, wait != nullptr ? wait->stream : 0);
      while (static_cast<int>(streams.size()) < highest) streams.push_back(make_stream(context.device));
      if (wait != nullptr) events.emplace(wait, make_event(context.device));
    }
  }
}

Operation::State::~State() {
  context.defer_failure([&] {
    context.device.bind();  // we may be on another thread than the rank's, once World::run is over
    if (record.in_flight.has_value()) context.wait(*record.in_flight);
  });
  std::erase(context.records, &record);
}

void Operation::State::launch(std::span<void* const> arguments, const Extents& given, Stream stream,
                              const Scalars& given_scalars) {
  if (!record.failure.empty()) {
    throw std::runtime_error(manifest.name + " cannot be launched again, since its flags are in disorder; make a new " +
                             "Operation. What happened: " + record.failure);
  }
  Sized& sized = sized_for(given);
  const std::vector<ScalarBytes> of_launch = resolve_scalars(manifest, given_scalars);
  check_buffers(manifest, group->rank, sized.bytes, arguments,
                [this](const void* begin, std::size_t bytes) { return is_allocated(begin, bytes); });
  set_windows(arguments, sized);
  follow_last_launch(stream);
  check_agreement(arguments, sized);
  buffers.set_arguments(arguments);
  std::ranges::copy(of_launch, scalars.begin());
  record.in_flight = stream;
  try {
    for (BoundStep& step : sized.steps) {
      std::visit([&](auto& action) { perform(action, step.stream, stream); }, step.action);
    }
  } catch (const std::exception& error) {
    record.failure = error.what();  // the steps before it are under way
    throw;
  }
}

/// Of extents within the capacity.
Operation::State::Sized& Operation::State::sized_for(const Extents& given) {
  const auto known = std::ranges::find(sizes, given, &Sized::given);
  if (known != sizes.end()) return *known;
  Sized made{.given = given, .extents = resolve_extents(manifest, given), .bytes = {}, .steps = {}};
  check_capacity(manifest, made.extents, capacity);
  for (const Argument& argument : manifest.arguments) made.bytes.push_back(bytes_of(argument, made.extents));
  made.steps = bind_steps({manifest, group->rank, kernels, buffers, scalars}, made.extents);
  if (sizes.size() < most_sizes) return sizes.emplace_back(std::move(made));
  Sized& replaced = sizes[oldest_size];
  oldest_size = (oldest_size + 1) % most_sizes;
  return replaced = std::move(made);
}

/// At the same place on all ranks of the group. Throws if it is allocated for others.
bool Operation::State::is_allocated(const void* begin, std::size_t bytes) const {
  if (group->is_allocated(begin, bytes)) return true;
  if (!context.is_allocated(begin, bytes, 0)) return false;
  throw std::runtime_error(record.operation +
                           ": a buffer was allocated, or adopted, by a group that has not all ranks of " +
                           name_group(group->ranks) + ", for which other things may lie there; allocate it with this " +
                           "group, or with one that has them all");
}

/// What is under way keeps what it was launched with, so this changes what follows alone.
void Operation::State::set_windows(std::span<void* const> arguments, const Sized& sized) {
  const LaunchWindows windows(manifest, context.adopted, sized.bytes, arguments);
  if (windows.empty() && !has_windows) return;
  for (LoadedKernel& kernel : kernels) kernel.set_windows(windows);
  has_windows = !windows.empty();
}

/// Launches share flags, so one in another stream waits for all that has been enqueued in the last one's. A capture
/// cannot wait for what is not captured with it.
void Operation::State::follow_last_launch(Stream stream) {
  if (!record.in_flight.has_value() || *record.in_flight == stream) return;
  const Stream last = *record.in_flight;
  const bool captured = context.device.is_capturing(stream);
  if (captured != context.device.is_capturing(last)) {
    throw std::runtime_error(manifest.name + (captured ? " cannot be captured while a launch in another stream may be "
                                                         "under way, which no graph waits for; synchronize that "
                                                         "stream before the capture begins"
                                                       : " cannot be launched while its launches in another stream "
                                                         "are captured; end that capture first"));
  }
  const Event end = end_of_last.get();
  context.device.record(end, last);
  context.device.wait(end, stream);
}

/// Ranks write into one another's memory where their own arguments say: a rank whose extents or offsets differ has its
/// memory overwritten.
void Operation::State::check_agreement(std::span<void* const> arguments, const Sized& sized) {
  if (agreement == nullptr) return;
  struct Said {
    const std::string& name;
    std::uint64_t value;
    bool is_offset;
    const Adoption* adoption;  ///< that it is an offset of; null: of the heap
  };
  const auto each = [&](const auto& say) {
    for (const auto& [name, length] : sized.extents) {
      say(Said{name, static_cast<std::uint64_t>(length), false, nullptr});
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Argument& argument = manifest.arguments[i];
      if (!argument.symmetric || sized.bytes[i] == 0) continue;
      const auto [adoption, offset] = context.place_of(arguments[i]);
      say(Said{argument.name, offset, true, adoption});
    }
  };
  std::uint64_t digest = 0;
  each([&](const Said& said) {
    constexpr int offset_bits = 48;  // an offset has no more
    const std::uint64_t number = said.adoption != nullptr ? said.adoption->number : 0;
    digest = (digest ^ said.value ^ number << offset_bits) * 0x9e3779b97f4a7c15u;  // mixed as by splitmix64
    digest ^= digest >> 29;
  });
  if (agreement->holds(++launches, digest * 0xbf58476d1ce4e5b9u)) return;
  std::string text;
  each([&](const Said& said) {
    text += (text.empty() ? "" : ", ") + said.name + (said.is_offset ? " at " : " = ") + std::to_string(said.value);
    if (said.adoption != nullptr) text += " of adopted memory " + std::to_string(said.adoption->number);
    if (said.is_offset && said.adoption == nullptr) text += " of the heap";
  });
  record.failure = record.operation + ": launch " + std::to_string(launches) + " on rank " +
                   std::to_string(context.rank) + " (" + text +
                   ") is not that of another rank; all must launch with the same extents, on buffers " +
                   "at the same offsets of their heaps, or of what they adopted together";
  throw std::runtime_error(record.failure);
}

void Operation::State::perform(BoundLaunch& launch, int number, Stream callers) const {
  for (BoundLaunch::Map& map : launch.maps) {
    if (map.layout.rows == 0 || map.layout.columns == 0) continue;  // nothing will be read
    map.layout.data = buffers.pointer(map.buffer);
    map.map = context.device.tensor_map(map.layout);
  }
  launch.kernel->launch(launch.blocks, launch.arguments, stream(number, callers));
}

void Operation::State::perform(const BoundCopy& copy, int number, Stream callers) const {
  char* const from = buffers.at(copy.from);
  char* to = buffers.at(copy.to);
  if (copy.peer != group->rank) to = group->on_rank(to, copy.peer);
  if (to == from) return;  // in place
  context.device.enqueue_copy(to, from, static_cast<std::size_t>(copy.bytes), stream(number, callers));
}

void Operation::State::perform(const WaitStep* wait, int number, Stream callers) const {
  const Event event = events.at(wait).get();
  context.device.record(event, stream(wait->stream, callers));
  context.device.wait(event, stream(number, callers));
}

Operation::Operation(Group& group, const BuiltOperation& built, const Extents& capacity)
    : state_(std::make_unique<State>(group, built, capacity)) {}

Operation::~Operation() = default;
Operation::Operation(Operation&&) noexcept = default;
Operation& Operation::operator=(Operation&&) noexcept = default;

void Operation::launch(std::span<void* const> buffers, const Extents& extents, Stream stream, const Scalars& scalars) {
  if (state_ == nullptr) throw std::logic_error("this Operation was moved from; launch the one that it became");
  state_->launch(buffers, extents, stream, scalars);
}

void Operation::launch(std::span<const TensorView> tensors, const Extents& extents, Stream stream,
                       const Scalars& scalars) {
  if (state_ == nullptr) return launch(std::span<void* const>(), extents, stream);  // which throws
  const Extents all = extents_of(state_->manifest, tensors, extents);
  std::vector<void*> buffers(tensors.size());
  std::ranges::transform(tensors, buffers.begin(), [](const TensorView& tensor) { return tensor.data(); });
  launch(buffers, all, stream, scalars);
}

const Manifest& Operation::manifest() const {
  return state_->manifest;
}

}  // namespace iris
