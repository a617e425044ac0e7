#include "runtime/launch/loaded_kernel.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace iris {

namespace {

bool is_signalled_by_copies(const Manifest& manifest) {
  return std::ranges::any_of(manifest.schedules, [](const Schedule& schedule) {
    return std::ranges::any_of(schedule.steps,
                               [](const Step& step) { return std::holds_alternative<SignalStep>(step.action); });
  });
}

/// Blocks that wait for one another must all be on the device, or those that are wait for ever. All ranks there count,
/// whichever the group: those of others may have one of theirs under way. Copies that they wait
/// for may be kernels, which need a place, too: between ranks of one device, and those of AMD's runtime.
void check_residency(const Manifest& manifest, const KernelEntry& kernel, const Context::State& context,
                     const Function& function) {
  if (!kernel.waits) return;
  const int ranks = context.ranks_on_device;
  const bool copies_are_kernels = ranks > 1 || manifest.target.starts_with("gfx");
  const int taken = copies_are_kernels && is_signalled_by_copies(manifest) ? 1 : 0;
  const int fit = context.device.resident_blocks(function, kernel.threads) - taken;
  if (std::int64_t{kernel.blocks} * ranks <= fit) return;
  std::string text = manifest.name + ": " + std::to_string(kernel.blocks) + " blocks of " +
                     std::to_string(kernel.threads) + " threads must run together";
  if (ranks > 1) text += " for each of the " + std::to_string(ranks) + " ranks on this device";
  text += ", but " + context.device.description() + " holds " + std::to_string(fit) + "; lower config.blocks to " +
          std::to_string(std::max(fit / ranks, 1)) + " or less, or config.threads";
  throw std::runtime_error(text);
}

}  // namespace

LoadedKernel::LoadedKernel(const Group::State& group, const Manifest& manifest, std::size_t kernel,
                           const CodeObject& code)
    : group_(group),
      manifest_(manifest),
      entry_(manifest.kernels.at(kernel)),
      module_(group.context.device.load(code)),
      function_(&module_->function(entry_.symbol)),
      name_(manifest.name + group.suffix) {
  check_residency(manifest_, entry_, group_.context, *function_);
  if (entry_.lets_next_begin) group_.context.device.leave_shared_memory(*function_);
}

void LoadedKernel::place(char* base, const KernelLayout& layout, device::Fault* fault) {
  std::ranges::copy(group_.bases, device_context_.bases[0]);
  device_context_.rank = group_.rank;
  device_context_.world = manifest_.problem.world;
  device_context_.flags = reinterpret_cast<device::u64*>(base + layout.flags);
  device_context_.launches = reinterpret_cast<device::LaunchCount*>(base + layout.launches);
  device_context_.workspace = base + layout.workspace;
  device_context_.workspace_bytes = static_cast<device::u64>(layout.workspace_bytes);
  device_context_.fault = fault;
  device_context_.timeout_ns = static_cast<device::u64>(manifest_.timeout_ms) * 1'000'000;
}

void LoadedKernel::launch(int blocks, std::span<const ArgumentBytes> arguments, Stream stream) const {
  group_.context.device.launch(*function_,
                               {.name = name_,
                                .blocks = blocks,
                                .threads = entry_.threads,
                                .stream = stream,
                                .timeout_ns = device_context_.timeout_ns,
                                .ranks = group_.ranks,
                                .dependent = entry_.dependent_launch},
                               arguments);
}

}  // namespace iris
