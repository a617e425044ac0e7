#include "iris/tune.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "iris/run.hpp"
#include "iris/world.hpp"
#include "irisgen/pattern.hpp"
#include "runtime/verify/joint_decision.hpp"
#include "runtime/verify/measurement.hpp"
#include "runtime/verify/search.hpp"

namespace iris {
namespace {

using irisgen::KernelSpec;
using irisgen::TuningCandidate;

constexpr int most_launches_of_batch = 20;
constexpr int launches_verified = 3;  ///< both ping-pong buffers, and the first again

/// Candidates of one problem on this machine's GPUs.
class GpuBench : public CandidateBench {
 public:
  GpuBench(const KernelSpec& kernel, int world, const irisgen::Target& target, const TuneOptions& options,
           const JointDecision& jointly)
      : kernel_(kernel), world_(world), target_(target), options_(options), jointly_(jointly) {}

  /// Ranks launch together what all of them could build, and take what is right on all of them.
  std::vector<std::string> verify(Candidates candidates) override {
    std::vector<std::string> problems = jointly_.first_words(build(candidates));
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (problems[i].empty()) problems[i] = verify(*candidates[i]);
    }
    return jointly_.first_words(problems);
  }

  std::vector<Timing> time(Candidates candidates, int batches) override {
    std::vector<Timing> together;
    std::string failure;
    try {
      together = time_together(candidates, batches);
    } catch (const std::runtime_error& error) {
      failure = error.what();
    }
    failure = jointly_.first_words({failure}).front();
    if (failure.empty()) return together;
    if (candidates.size() == 1) return {{.why = failure}};
    std::vector<Timing> timings;  // without the one that fails
    timings.reserve(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) timings.push_back(time(candidates.subspan(i, 1), batches)[0]);
    return timings;
  }

 private:
  /// A candidate's code, and that of the same variant and config at a size that can be verified.
  struct Built {
    Measured measured = {};
    BuiltOperation verified = {};
    std::shared_ptr<const Reference> reference = {};
    std::string why = {};  ///< they could not be made
  };

  Built build(const TuningCandidate& candidate) const {
    Built built;
    try {
      built.measured = build_measured(candidate.plan, options_.compiler);
      built.verified =
          build_operation(irisgen::verification_plan(kernel_, world_, target_, candidate), options_.compiler);
      built.reference = reference_of(candidate.plan);
    } catch (const std::exception& error) {
      built.why = error.what();
    }
    return built;
  }

  /// On all cores. Why each cannot be; empty if it can.
  std::vector<std::string> build(Candidates candidates) {
    std::vector<Built> all(candidates.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < candidates.size(); i = next++) all[i] = build(*candidates[i]);
    };
    {
      std::vector<std::jthread> threads;
      const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
      for (std::size_t i = 0; i < std::min(cores, candidates.size()); ++i) threads.emplace_back(work);
    }
    std::vector<std::string> problems;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      problems.push_back(all[i].why);
      built_.insert_or_assign(candidates[i], std::move(all[i]));
    }
    return problems;
  }

  std::string verify(const TuningCandidate& candidate) {
    try {
      RunOptions options;
      options.scalars = candidate.plan.values;
      options.seed = options_.seed;
      options.repeat = launches_verified;
      options.processes = options_.processes;
      const Built& built = built_.at(&candidate);
      options.reference = built.reference;
      const RunReport report = run_operation(built.verified, options);
      if (report.passed) return "";
      if (!report.violations.empty()) return "wrong: " + report.violations.front();
      return "wrong: " + std::to_string(report.wrong) + " of " + std::to_string(report.elements) + " elements";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }

  std::vector<Timing> time_together(Candidates candidates, int batches) const {
    const Measured& first = built_.at(candidates.front()).measured;
    const BufferTurns same = buffer_turns(first.plan, first.extents, false, most_launches_of_batch);
    std::size_t heap_bytes = same.heap_bytes();
    for (const TuningCandidate* candidate : candidates) heap_bytes += heap_bytes_of(built_.at(candidate).measured);
    const std::unique_ptr<World> ranks = open_world(
        {.size = world_, .target = std::string(target_.name), .heap_bytes = heap_bytes, .seed = options_.seed},
        options_.processes, kernel_.name);
    std::vector<Timing> timings(candidates.size());
    ranks->run([&](Context& context) {
      const BenchBufferSets buffers(context, first.plan, first.extents, same, options_.seed);
      std::vector<std::unique_ptr<Measurement>> measurements;
      measurements.reserve(candidates.size());
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        measurements.push_back(
            std::make_unique<Measurement>(context, built_.at(candidates[i]).measured, buffers, true));
      }
      for (const auto& measurement : measurements) measurement->batches().warm_up(most_launches_of_batch);
      for (int batch = 0; batch < batches; ++batch) {
        for (const auto& measurement : measurements) measurement->batches().time();
      }
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const double time_us = median(sorted_times(measurements[i]->batches().gather()));
        if (options_.processes || context.rank() == 0) timings[i].time_us = time_us;
      }
    });
    return timings;
  }

  const KernelSpec& kernel_;
  int world_;
  const irisgen::Target& target_;
  const TuneOptions& options_;
  const JointDecision& jointly_;
  std::map<const TuningCandidate*, Built> built_;
};

/// What tells a kernel of the user's own from others; empty for a pattern's, which is told by its problem.
std::string own_hash_of(const KernelSpec& kernel, int world, const irisgen::Target& target) {
  return kernel.user ? irisgen::make_plan(kernel, world, target).spec_hash : "";
}

irisgen::TuningEntry entry_of(const TunedProblem& problem, const std::string& own_hash, const irisgen::Target& target,
                              const TuneReport& report) {
  const TriedCandidate& best = problem.candidates.at(static_cast<std::size_t>(problem.best));
  return {.problem = problem.problem,
          .target = std::string(target.name),
          .device = report.device,
          .driver = report.driver,
          .variant = best.variant,
          .config = best.config,
          .constants = best.constants,
          .spec_hash = own_hash,
          .time_us = best.time_us,
          .untuned_us = problem.candidates.front().time_us,
          .measured = problem.count_measured(),
          .times_us = problem.fastest_of_variants(),
          .complete = problem.complete,
          .kernels = irisgen::kernels_digest()};
}

/// What the table has of a problem, measured on this device with all that is as it was.
const irisgen::TuningEntry* find_known(const irisgen::TuningTable& known, const Problem& problem,
                                       const std::string& own_hash, const irisgen::Target& target,
                                       const TuneReport& report) {
  const irisgen::TuningEntry* entry = known.find_measured(problem, target.name, report.device, own_hash);
  const bool holds = entry != nullptr && entry->complete && entry->driver == report.driver &&
                     entry->kernels == irisgen::kernels_digest();
  return holds ? entry : nullptr;
}

TunedProblem problem_of_entry(const irisgen::TuningEntry& entry) {
  return {.problem = entry.problem,
          .bytes = irisgen::bus_size(entry.problem),
          .known = true,
          .candidates = {{.variant = entry.variant,
                          .config = entry.config,
                          .constants = entry.constants,
                          .time_us = entry.time_us}},
          .best = 0};
}

/// The table of rank 0: others may have read it at another time.
irisgen::TuningTable agree_on(const irisgen::TuningTable& known, const JointDecision& jointly) {
  return irisgen::parse_tuning("the tuning table of rank 0", jointly.of_rank_0(irisgen::to_json(known)));
}

/// The device of all ranks, and that each has one of its own. The world stays, so that the devices are not opened anew
/// for each candidate.
std::unique_ptr<World> open_devices(int world, const irisgen::Target& target, bool processes, TuneReport& report) {
  std::unique_ptr<World> ranks = open_world(
      {.size = world, .target = std::string(target.name), .heap_bytes = 1 << 20, .seed = 0}, processes, report.kernel);
  const WorldDevices devices = devices_of(*ranks);
  if (devices.most_ranks > 1) {
    throw std::runtime_error("ranks that share a GPU run as no others do, and there are fewer GPUs than " +
                             std::to_string(world) + "; tune fewer ranks (--world)");
  }
  report.device = devices.description;
  report.driver = survey_gpus().api;
  return ranks;
}

}  // namespace

int TunedProblem::count_measured() const {
  return static_cast<int>(std::ranges::count_if(candidates, [](const auto& each) { return each.time_us > 0; }));
}

std::map<std::string, double> TunedProblem::fastest_of_variants() const {
  std::map<std::string, double> times;
  for (const TriedCandidate& candidate : candidates) {
    if (candidate.time_us == 0 || candidate.failed) continue;
    double& time_us = times.try_emplace(candidate.variant, candidate.time_us).first->second;
    time_us = std::min(time_us, candidate.time_us);
  }
  return times;
}

TuneReport tune_operation(const KernelSpec& kernel, int world, const irisgen::Target& target,
                          const TuneOptions& options) {
  if (target.platform == irisgen::Platform::host)
    throw std::invalid_argument("times on the CPU say nothing about a GPU: only GPUs can be tuned");
  if (options.batches < 1) throw std::invalid_argument("a measurement needs at least one batch");
  const auto start = std::chrono::steady_clock::now();
  const std::vector<KernelSpec> kernels = kernels_to_measure(kernel, world, options.sizes);
  TuneReport report{.kernel = kernel.name};
  const std::unique_ptr<World> devices = open_devices(world, target, options.processes, report);
  const JointDecision jointly(options.processes ? devices.get() : nullptr);
  const auto out_of_time = [&] {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    return jointly.of_rank_0(spent.count() > options.budget_s);
  };
  const irisgen::TuningTable known_to_all = options.processes ? agree_on(options.known, jointly) : options.known;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::vector<TuningCandidate> candidates = tuning_candidates(kernels[i], world, target);
    const Problem& problem = candidates.front().plan.problem;
    const bool asks = irisgen::is_left_to_plan(kernel) && kernel.tune.empty();
    const std::string own_hash = own_hash_of(kernels[i], world, target);
    const auto* known = asks ? find_known(known_to_all, problem, own_hash, target, report) : nullptr;
    if (known != nullptr) {
      report.problems.push_back(problem_of_entry(*known));
      continue;
    }
    if (out_of_time()) {
      report.complete = false;
      continue;
    }
    const auto progress = [&](std::string_view doing, int count) {
      if (options.progress) options.progress(static_cast<int>(i), static_cast<int>(kernels.size()), doing, count);
    };
    TunedProblem tuned{.problem = problem, .bytes = irisgen::bus_size(problem)};
    GpuBench bench(kernels[i], world, target, options, jointly);
    search(candidates, bench, {.batches = options.batches, .out_of_time = out_of_time, .progress = progress}, tuned);
    report.complete = report.complete && tuned.complete;
    if (tuned.best >= 0 && options.found && irisgen::is_for_tables(kernel))
      options.found(entry_of(tuned, own_hash, target, report));
    report.problems.push_back(std::move(tuned));
  }
  return report;
}

}  // namespace iris
