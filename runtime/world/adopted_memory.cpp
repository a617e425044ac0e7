#include "runtime/world/adopted_memory.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "generator/manifest/descriptor.hpp"
#include "runtime/world/group.hpp"
#include "runtime/world/packing.hpp"

namespace iris {

namespace {

std::uintptr_t number_of(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

/// What `attempt` throws, in words; empty if it does not.
template <typename Attempt>
std::string words_of_attempt(const Attempt& attempt) {
  try {
    attempt();
  } catch (...) {
    return words_of(std::current_exception());
  }
  return {};
}

/// What each member gave. Throws on every one if one has met an error.
std::vector<std::string> gather(const Group::State& group, const std::string& call, const std::string& error,
                                std::string content) {
  std::vector<std::string> contents;
  std::string failure;
  for (const std::string& said :
       group.collectives->all_gather({.call = call, .state = {}}, pack({error, std::move(content)}))) {
    std::vector<std::string> texts = unpack(said, 2);
    if (failure.empty() && !texts[0].empty()) {
      failure = call + " cannot be done on rank " + std::to_string(group.ranks[contents.size()]) + ": " + texts[0];
    }
    contents.push_back(std::move(texts[1]));
  }
  if (!failure.empty()) throw std::runtime_error(failure);
  return contents;
}

/// What a device does for an adoption, undone unless it is kept.
class Steps {
 public:
  explicit Steps(Device& device) : device_(device) {}
  ~Steps() {
    for (void* memory : done_) device_.release_adopted(memory);
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  void add(void* memory) { done_.push_back(memory); }
  void keep() { done_.clear(); }

 private:
  Device& device_;
  std::vector<void*> done_;
};

/// Ranks of one process address each other's memory as it is, once their GPUs may.
std::vector<char*> open_to_threads(const Group::State& group, const std::string& call, void* memory,
                                   std::size_t bytes) {
  Device& device = group.context.device;
  const std::string mine = pack({std::to_string(number_of(memory)), std::to_string(device.index())});
  std::vector<char*> bases;
  std::vector<int> devices;
  for (const std::string& said : gather(group, call, {}, mine)) {
    const std::vector<std::string> texts = unpack(said, 2);
    bases.push_back(reinterpret_cast<char*>(std::stoull(texts[0])));  // NOLINT(performance-no-int-to-ptr)
    devices.push_back(std::stoi(texts[1]));
  }
  gather(group, call, words_of_attempt([&] { device.open_to_devices(memory, bytes, devices); }), {});
  return bases;
}

/// All but the files.
std::string pack_export(const ExportedMemory& exported) {
  std::vector<std::string> texts = {exported.handle, std::to_string(exported.offset)};
  for (const std::size_t size : exported.sizes) texts.push_back(std::to_string(size));
  return pack(texts);
}

ExportedMemory unpack_export(const std::string& bytes) {
  std::vector<std::string> texts = unpack(bytes);
  ExportedMemory exported{.handle = texts.at(0), .offset = std::stoul(texts.at(1))};
  for (std::size_t i = 2; i < texts.size(); ++i) exported.sizes.push_back(std::stoul(texts[i]));
  return exported;
}

/// The files of all ranks, each as open in this process. In turns, a file of every rank that has one left, so that few
/// are on their way at a time.
std::vector<std::vector<Descriptor>> hand_over(const Group::State& group, const std::string& call,
                                               const std::vector<Descriptor>& own,
                                               const std::vector<ExportedMemory>& exported) {
  std::size_t most = 0;
  for (const ExportedMemory& each : exported) most = std::max(most, each.sizes.size());
  std::vector<std::vector<Descriptor>> files(exported.size());
  for (std::size_t turn = 0; turn < most; ++turn) {
    const Descriptor none(-1);
    std::vector<Descriptor> handed =
        group.collectives->hand_over({.call = call, .state = {}}, turn < own.size() ? own[turn] : none);
    for (std::size_t rank = 0; rank < handed.size(); ++rank) {
      if (handed[rank].get() >= 0) files[rank].push_back(std::move(handed[rank]));
    }
  }
  return files;
}

/// Ranks that are processes hand over what stands for their memory, and map that of the others.
std::vector<char*> map_processes(const Group::State& group, const std::string& call, void* memory, std::size_t bytes) {
  Device& device = group.context.device;
  Steps steps(device);
  ExportedMemory exported;
  std::vector<Descriptor> own;
  const std::string refusal = words_of_attempt([&] {
    exported = device.export_adopted(memory, bytes);
    steps.add(memory);
  });
  own.reserve(exported.files.size());
  for (const int file : exported.files) own.emplace_back(file);
  std::vector<ExportedMemory> theirs;
  for (const std::string& said : gather(group, call, refusal, pack_export(exported))) {
    theirs.push_back(unpack_export(said));
  }
  const std::vector<std::vector<Descriptor>> files = hand_over(group, call, own, theirs);
  std::vector<char*> bases(theirs.size());
  const std::string error = words_of_attempt([&] {
    for (std::size_t peer = 0; peer < bases.size(); ++peer) {
      if (static_cast<int>(peer) == group.rank) {
        bases[peer] = static_cast<char*>(memory);
        continue;
      }
      for (const Descriptor& file : files[peer]) theirs[peer].files.push_back(file.get());
      bases[peer] = static_cast<char*>(device.import_adopted(theirs[peer], bytes));
      steps.add(bases[peer]);
    }
  });
  gather(group, call, error, {});
  steps.keep();
  return bases;
}

}  // namespace

void AdoptedMemory::adopt(const Group::State& group, void* memory, std::size_t bytes, std::string refusal) {
  const std::string call = group.call("as_symmetric(" + std::to_string(bytes) + " bytes)");
  if (refusal.empty()) refusal = describe_refusal(memory, bytes);
  std::uint64_t last = 0;
  for (const std::string& said : gather(group, call, refusal, std::to_string(last_number_))) {
    last = std::max<std::uint64_t>(last, std::stoull(said));
  }
  const std::vector<char*> bases = group.collectives->share_addresses() ? open_to_threads(group, call, memory, bytes)
                                                                        : map_processes(group, call, memory, bytes);
  last_number_ = last + 1;
  Adoption made{.number = last_number_,
                .members = group.members(),
                .begin = static_cast<char*>(memory),
                .bytes = bytes,
                .bases = std::vector<char*>(group.context.bases.size())};
  for (std::size_t i = 0; i < bases.size(); ++i) made.bases[static_cast<std::size_t>(group.ranks[i])] = bases[i];
  const auto behind = std::ranges::upper_bound(adoptions_, made.begin, std::less<>(), &Adoption::begin);
  adoptions_.insert(behind, std::move(made));
}

void AdoptedMemory::release(const Group::State& group, void* memory) {
  Collectives& members = *group.collectives;
  Device& device = group.context.device;
  const auto found = std::ranges::find(adoptions_, static_cast<char*>(memory), &Adoption::begin);
  if (found == adoptions_.end() || found->members != group.members()) {
    members.barrier({.call = group.call("release_symmetric(memory that was not adopted)"), .state = {}});
    throw std::runtime_error("rank " + std::to_string(group.context.rank) + " releases memory that as_symmetric()" +
                             group.suffix + " did not adopt, or that is released already");
  }
  const CollectiveCall call{.call = group.call("release_symmetric(adopted memory " + std::to_string(found->number) +
                                               ", " + std::to_string(found->bytes) + " bytes)"),
                            .state = {}};
  members.barrier(call);  // nobody uses it any more
  if (!members.share_addresses()) {
    for (char* base : found->bases) {
      if (base != nullptr && base != found->begin) device.release_adopted(base);
    }
    members.barrier(call);  // nobody has it mapped any more
    device.release_adopted(found->begin);
  }
  adoptions_.erase(found);
}

const Adoption* AdoptedMemory::find(const void* memory, std::size_t bytes) const {
  const auto behind = std::ranges::upper_bound(adoptions_, number_of(memory), std::less<>(),
                                               [](const Adoption& each) { return number_of(each.begin); });
  if (behind == adoptions_.begin()) return nullptr;
  const Adoption& before = *std::prev(behind);
  const std::uintptr_t offset = number_of(memory) - number_of(before.begin);
  return offset < before.bytes && bytes <= before.bytes - offset ? &before : nullptr;
}

std::string AdoptedMemory::describe_refusal(const void* memory, std::size_t bytes) const {
  if (memory == nullptr) return "the memory is null";
  if (bytes == 0) return "there is nothing to adopt";
  for (const Adoption& each : adoptions_) {
    const bool apart =
        number_of(memory) + bytes <= number_of(each.begin) || number_of(each.begin) + each.bytes <= number_of(memory);
    if (!apart) {
      return "the memory overlaps adopted memory " + std::to_string(each.number) + ", of " +
             std::to_string(each.bytes) + " bytes; release that first, or adopt both as one range";
    }
  }
  return {};
}

}  // namespace iris
