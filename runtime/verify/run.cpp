#include "iris/run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>

#include "iris/source_reader.hpp"
#include "iris/world.hpp"
#include "irisgen/pattern.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/system/host_memory.hpp"
#include "runtime/verify/measurement.hpp"
#include "runtime/verify/random.hpp"
#include "runtime/verify/rank_buffers.hpp"
#include "runtime/verify/run_parts.hpp"
#include "runtime/world/group.hpp"

namespace iris {

namespace {

/// Launches that follow one another without the host waiting: enough for both ping-pong buffers to be in use.
constexpr int max_in_flight = 4;

constexpr std::size_t max_violations = 16;

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The data of one launch, on all ranks.
struct LaunchData {
  int launch = 0;
  std::vector<std::vector<irisgen::Values>> inputs;  ///< [rank][argument that is read or updated]
  std::vector<BuffersOfRanks> outputs;               ///< [argument that is written or updated][rank], after the launch
};

/// Puts the output of a launch, which begins so many bytes after an input, in its place there.
void put_output(const std::vector<std::byte>& output, std::ptrdiff_t offset, std::vector<std::byte>& input) {
  for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(0, offset); i < std::ssize(input) && i - offset < std::ssize(output);
       ++i) {
    input[static_cast<std::size_t>(i)] = output[static_cast<std::size_t>(i - offset)];
  }
}

/// One call of run_operation, or of find_store.
class Run {
 public:
  /// `watched` is an element whose last store is to be told; null: none.
  Run(const BuiltOperation& built, const RunOptions& options, const WorstElement* watched = nullptr);
  RunReport execute();

 private:
  struct Rank {
    std::unique_ptr<Operation> operation;
    std::vector<RankBuffers> buffers;  ///< one for each launch in flight
  };

  void check_inputs() const;
  std::size_t heap_bytes() const;
  void check_memory(std::size_t heap) const;
  void set_up(Context& context);
  bool is_watched(int launch) const { return watched_ != nullptr && watched_->launch == launch; }
  void watch(const RankBuffers& buffers);
  void tell_watched(const LaunchData& data);
  std::vector<LaunchData> prepare(int first, int count) const;
  irisgen::Values input_of(int rank, std::size_t argument, int launch) const;
  void complete_inputs(LaunchData& data) const;
  void merge();
  void launch(Context& context, std::vector<LaunchData>& batch);
  void collect(Context& context, const RankBuffers& buffers, LaunchData& data);
  void verify(const LaunchData& data);
  void report_violation(std::string what);
  void progress(std::string_view stage, int done) const;

  const BuiltOperation& built_;
  const Manifest& manifest_;
  const RunOptions& options_;
  std::shared_ptr<const Reference> reference_;  ///< where there is something to verify
  Extents extents_;
  std::vector<std::size_t> outputs_;  ///< positions of the arguments that are written or updated
  int in_flight_;
  const WorstElement* watched_;
  StoreWatch watch_;
  int own_rank_ = 0;  ///< of this process, where ranks are processes
  Stopwatch since_start_;
  std::unique_ptr<World> world_;
  std::vector<Rank> ranks_;
  RunReport report_;
  std::mutex violations_;
};

Run::Run(const BuiltOperation& built, const RunOptions& options, const WorstElement* watched)
    : built_(built),
      manifest_(built.manifest),
      options_(options),
      reference_(options.verify ? options.reference : nullptr),
      extents_(resolve_extents(manifest_, options.extents)),
      in_flight_(std::clamp(options.repeat, 1, max_in_flight)),
      watched_(watched) {
  for (std::size_t i = 0; i < manifest_.arguments.size(); ++i) {
    if (manifest_.arguments[i].access != Access::read) outputs_.push_back(i);
  }
  if (outputs_.empty()) throw std::runtime_error(manifest_.name + " writes no argument");
  if (options.in_place && manifest_.in_place == InPlace::no) {
    throw std::runtime_error(manifest_.name + " cannot work in place");
  }
  if (options.repeat < 1) throw std::runtime_error("a run has at least one launch");
  const std::size_t heap = options.heap_bytes != 0 ? options.heap_bytes : heap_bytes();
  const std::string refusal = words_of_attempt([&] {
    check_inputs();
    resolve_scalars(manifest_, options_.scalars);
    if (options.verify && !reference_) reference_ = reference_of_pattern(manifest_.problem);
    check_memory(heap);
  });
  // A process joins all the same: one that does not is one world behind the others from here on.
  if (!refusal.empty() && !options.processes) throw std::runtime_error(refusal);
  const WorldOptions world{.size = manifest_.problem.world,
                           .target = manifest_.target,
                           .heap_bytes = heap,
                           .seed = options.seed,
                           .locate = source_locator(),
                           .watch = watched != nullptr ? &watch_ : nullptr};
  const std::string obstacle = words_of_attempt([&] { world_ = open_world(world, options.processes, manifest_.name); });
  for (const std::string& why : {refusal, obstacle}) {
    if (!why.empty()) throw std::runtime_error(why);
  }
  ranks_.resize(static_cast<std::size_t>(manifest_.problem.world));
}

void Run::check_inputs() const {
  for (const auto& [name, buffers] : options_.inputs) {
    const auto argument = std::ranges::find(manifest_.arguments, name, &Argument::name);
    if (argument == manifest_.arguments.end() || argument->access == Access::write) {
      throw std::runtime_error(manifest_.name + " reads no argument '" + name + "'");
    }
    if (buffers.size() != static_cast<std::size_t>(manifest_.problem.world)) {
      throw std::runtime_error("'" + name + "' is given for " + std::to_string(buffers.size()) + " ranks, but " +
                               manifest_.name + " runs on " + std::to_string(manifest_.problem.world));
    }
    const auto wanted = static_cast<std::size_t>(bytes_of(*argument, extents_));
    for (std::size_t rank = 0; rank < buffers.size(); ++rank) {
      if (buffers[rank].size() == wanted) continue;
      throw std::runtime_error("'" + name + "' of rank " + std::to_string(rank) + " has " +
                               std::to_string(buffers[rank].size()) + " bytes, but " + manifest_.name + " takes " +
                               std::to_string(wanted));
    }
    if (argument->replicated && std::ranges::adjacent_find(buffers, std::ranges::not_equal_to()) != buffers.end())
      throw std::runtime_error("'" + name + "' must be the same on all ranks; give each the same file");
  }
}

std::size_t Run::heap_bytes() const {
  return static_cast<std::size_t>(layout_of(manifest_, extents_).total_bytes) +
         static_cast<std::size_t>(in_flight_) * RankBuffers::heap_bytes(manifest_, extents_);
}

/// Memory is mapped before it is there, so what does not fit would have the system kill some process, perhaps not us.
void Run::check_memory(std::size_t heap) const {
  const auto beside = static_cast<double>(layout_of(manifest_, extents_).device_bytes);
  double bytes = manifest_.target == "host" ? static_cast<double>(heap) + beside : 0;
  for (const Argument& argument : manifest_.arguments) {
    const auto size = static_cast<double>(bytes_of(argument, extents_));
    const double values = size / static_cast<double>(bytes_of(argument.dtype)) * sizeof(double);
    // Inputs are kept as float64; outputs as they are, to be compared with expected values and tolerances. A process
    // makes those of all ranks by itself.
    const double copies = options_.processes && reference_ ? manifest_.problem.world : 1;
    if (argument.access != Access::write) bytes += copies * in_flight_ * values;
    if (argument.access == Access::read) continue;
    bytes += in_flight_ * size;
    if (reference_) bytes += copies * 2 * values;
  }
  bytes *= manifest_.problem.world;
  const auto available = static_cast<double>(available_memory());
  if (bytes <= available) return;
  const auto gigabytes = [](double value) { return std::to_string(std::llround(value / 1e9)) + " GB"; };
  throw std::runtime_error(manifest_.name + ": a run on " + std::to_string(manifest_.problem.world) + " ranks takes " +
                           gigabytes(bytes) + " of this machine's memory, but " + gigabytes(available) +
                           " are available; take a smaller shape or fewer ranks");
}

RunReport Run::execute() {
  progress("load", 0);
  world_->run([this](Context& context) { set_up(context); });
  report_.setup_ms = since_start_.milliseconds();
  report_.verified = reference_ != nullptr;
  for (const std::size_t output : outputs_) {
    const Argument& argument = manifest_.arguments[output];
    report_.outputs.push_back({argument.name, shape_of(argument.shape, extents_), {}});
  }
  for (int first = 0; first < options_.repeat; first += in_flight_) {
    const int count = std::min(in_flight_, options_.repeat - first);
    std::vector<LaunchData> batch = prepare(first, count);
    progress("launch", first);
    world_->run([&](Context& context) { launch(context, batch); });
    progress("launch", first + count);
    for (LaunchData& data : batch) {
      if (options_.processes && reference_) complete_inputs(data);
      if (reference_) verify(data);
      if (is_watched(data.launch)) {
        tell_watched(data);
        return std::move(report_);
      }
      if (!options_.keep_outputs) continue;
      for (std::size_t i = 0; i < outputs_.size(); ++i) report_.outputs[i].content = std::move(data.outputs[i]);
    }
  }
  if (options_.processes) merge();
  report_.passed = report_.wrong == 0 && report_.violations.empty();
  return std::move(report_);
}

void Run::set_up(Context& context) {
  Rank& rank = ranks_[static_cast<std::size_t>(context.rank())];
  rank.operation = std::make_unique<Operation>(context, built_, extents_);
  for (int i = 0; i < in_flight_; ++i) rank.buffers.emplace_back(context, manifest_, extents_, options_.in_place);
  if (context.rank() == 0 || options_.processes) report_.device = context.device().description();
  own_rank_ = context.rank();
}

std::vector<LaunchData> Run::prepare(int first, int count) const {
  std::vector<LaunchData> batch(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    LaunchData& data = batch[static_cast<std::size_t>(i)];
    data.launch = first + i;
    data.inputs.resize(static_cast<std::size_t>(manifest_.problem.world));
    data.outputs.assign(outputs_.size(), BuffersOfRanks(static_cast<std::size_t>(manifest_.problem.world)));
  }
  return batch;
}

irisgen::Values Run::input_of(int rank, std::size_t argument, int launch) const {
  const Argument& wanted = manifest_.arguments[argument];
  if (const auto given = options_.inputs.find(wanted.name); given != options_.inputs.end()) {
    return to_values(given->second[static_cast<std::size_t>(rank)], wanted.dtype);
  }
  const std::int64_t count = bytes_of(wanted, extents_) / bytes_of(wanted.dtype);
  const int of_rank = wanted.replicated ? 0 : rank;
  return random_values(
      {.seed = options_.seed, .rank = of_rank, .argument = static_cast<int>(argument), .launch = launch},
      static_cast<std::size_t>(count), wanted.dtype, manifest_.problem.op.value_or(Op::sum));
}

/// Those of the other ranks, which are other processes: they follow from what all are told.
void Run::complete_inputs(LaunchData& data) const {
  for (int rank = 0; rank < manifest_.problem.world; ++rank) {
    if (rank == own_rank_) continue;
    for (std::size_t argument = 0; argument < manifest_.arguments.size(); ++argument) {
      if (manifest_.arguments[argument].access == Access::write) continue;
      data.inputs[static_cast<std::size_t>(rank)].push_back(input_of(rank, argument, data.launch));
    }
  }
}

/// Each process has verified its own rank's outputs.
void Run::merge() {
  world_->run([this](Context& context) {
    const std::vector<std::string> parts = context.state().collectives->all_gather(
        {.call = "the report of " + manifest_.name, .state = {}}, pack_part(report_, context.rank()));
    merge_parts(parts, report_);
  });
}

/// One rank's part of a batch of launches.
void Run::launch(Context& context, std::vector<LaunchData>& batch) {
  const Rank& rank = ranks_[static_cast<std::size_t>(context.rank())];
  for (std::size_t i = 0; i < batch.size(); ++i) {
    for (std::size_t argument = 0; argument < manifest_.arguments.size(); ++argument) {
      rank.buffers[i].poison(context.device(), argument, poison_byte(manifest_.arguments[argument].dtype));
    }
    for (std::size_t argument = 0; argument < manifest_.arguments.size(); ++argument) {
      if (manifest_.arguments[argument].access == Access::write) continue;
      const irisgen::Values values = input_of(context.rank(), argument, batch[i].launch);
      rank.buffers[i].write(context.device(), argument, to_bytes(values, manifest_.arguments[argument].dtype));
      batch[i].inputs[static_cast<std::size_t>(context.rank())].push_back(values);
    }
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (is_watched(batch[i].launch) && watched_->rank == context.rank()) watch(rank.buffers[i]);
  }
  // A peer that begins early must not have its stores to our outputs poisoned afterwards.
  context.barrier();
  const Stopwatch watch;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    rank.operation->launch(rank.buffers[i].pointers(), extents_, nullptr, options_.scalars);
  }
  context.barrier();
  if (context.rank() == 0 || options_.processes) report_.launch_ms += watch.milliseconds();
  for (std::size_t i = 0; i < batch.size(); ++i) collect(context, rank.buffers[i], batch[i]);
}

/// Fetches one rank's output of one launch, and looks at what the kernel should have left alone.
void Run::collect(Context& context, const RankBuffers& buffers, LaunchData& data) {
  const auto rank = static_cast<std::size_t>(context.rank());
  for (std::size_t i = 0; i < outputs_.size(); ++i) data.outputs[i][rank] = buffers.read(context.device(), outputs_[i]);
  std::size_t input = 0;
  for (std::size_t argument = 0; argument < manifest_.arguments.size(); ++argument) {
    const Argument& checked = manifest_.arguments[argument];
    const std::string where =
        " '" + checked.name + "' of rank " + std::to_string(rank) + " (launch " + std::to_string(data.launch) + ")";
    if (!buffers.guards_intact(context.device(), argument))
      report_violation("memory next to" + where + " was overwritten");
    if (checked.access == Access::write) continue;
    const irisgen::Values& given = data.inputs[rank][input++];
    if (checked.access == Access::update) continue;
    std::vector<std::byte> left = to_bytes(given, checked.dtype);
    if (options_.in_place) put_output(data.outputs[0][rank], buffers.distance(argument, outputs_[0]), left);
    if (buffers.read(context.device(), argument) != left) report_violation("the input" + where + " was overwritten");
  }
}

void Run::verify(const LaunchData& data) {
  progress("verify", data.launch);
  const Stopwatch watch;
  const ExpectedOutputs expected = reference_->expect(manifest_, extents_, options_.scalars, data.inputs);
  for (std::size_t output = 0; output < outputs_.size(); ++output) {
    for (int rank = 0; rank < manifest_.problem.world; ++rank) {
      if (options_.processes && rank != own_rank_) continue;
      const auto index = static_cast<std::size_t>(rank);
      const Dtype dtype = manifest_.arguments[outputs_[output]].dtype;
      const Comparison found = compare(data.outputs[output][index], dtype, expected[output][index]);
      report_.elements += static_cast<std::int64_t>(expected[output][index].value.size());
      report_.wrong += found.wrong;
      const WorstElement element{.output = output, .launch = data.launch, .rank = rank, .element = found};
      if (is_worse(element, report_.worst)) report_.worst = element;
    }
  }
  report_.verify_ms += watch.milliseconds();
  progress("verify", data.launch + 1);
}

void Run::watch(const RankBuffers& buffers) {
  const std::size_t argument = outputs_[watched_->output];
  watch_.bytes = static_cast<std::size_t>(bytes_of(manifest_.arguments[argument].dtype));
  watch_.memory = static_cast<const std::byte*>(buffers.pointers()[argument]) +
                  static_cast<std::size_t>(watched_->element.index) * watch_.bytes;
}

/// Unless the element has become another one: then what was seen here is not what went wrong before.
void Run::tell_watched(const LaunchData& data) {
  const std::size_t output = watched_->output;
  const std::span content(data.outputs[output][static_cast<std::size_t>(watched_->rank)]);
  const std::size_t offset = static_cast<std::size_t>(watched_->element.index) * watch_.bytes;
  const double now = to_values(content.subspan(offset, watch_.bytes), manifest_.arguments[outputs_[output]].dtype)[0];
  const double before = watched_->element.actual;
  report_.watched = now == before || (std::isnan(now) && std::isnan(before));
  report_.stored_by = watch_.last;
}

void Run::report_violation(std::string what) {
  const std::lock_guard lock(violations_);
  if (report_.violations.size() < max_violations) report_.violations.push_back(std::move(what));
}

void Run::progress(std::string_view stage, int done) const {
  if (options_.progress) options_.progress(stage, done, options_.repeat);
}

}  // namespace

namespace {

/// Runs all once more, on code that tells of its stores, up to the launch that made `report`'s worst element.
void find_store(RunReport& report, const RunOptions& options) {
  RunOptions again = options;
  again.verify = false;
  again.progress = {};
  try {
    const RunReport watched = Run(options.build_watched(), again, &report.worst).execute();
    report.watched = watched.watched;
    report.stored_by = watched.stored_by;
  } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch): what is wrong is known without it
  }
}

}  // namespace

RunReport run_operation(const BuiltOperation& built, const RunOptions& options) {
  RunReport report = Run(built, options).execute();
  if (options.build_watched && report.worst.element.wrong > 0) find_store(report, options);
  return report;
}

}  // namespace iris
