#include "runtime/world/adopted_memory.hpp"

#include <algorithm>
#include <exception>
#include <span>
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

bool overlap(const void* begin, std::size_t bytes, const void* other, std::size_t other_bytes) {
  return number_of(begin) < number_of(other) + other_bytes && number_of(other) < number_of(begin) + bytes;
}

/// Throws unless each member of the group gives memory of its own, here and in what was adopted before. Every member
/// looks at all of it.
void check_apart(const std::vector<int>& ranks, std::span<char* const> begins, std::size_t bytes,
                 const std::vector<Adoption>& adoptions) {
  const auto refuse = [](int rank, std::size_t other) {
    throw std::runtime_error("rank " + std::to_string(rank) + " gives memory that is, or overlaps, what rank " +
                             std::to_string(other) + " gave; each gives its own");
  };
  for (std::size_t i = 0; i < begins.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(begins[i], bytes, begins[j], bytes)) refuse(ranks[i], static_cast<std::size_t>(ranks[j]));
    }
    for (const Adoption& before : adoptions) {
      for (std::size_t rank = 0; rank < before.bases.size(); ++rank) {
        const char* const base = before.bases[rank];
        if (base != nullptr && overlap(begins[i], bytes, base, before.bytes)) refuse(ranks[i], rank);
      }
    }
  }
}

/// Ranks of one process address each other's memory as it is, once their GPUs may.
std::vector<char*> open_to_threads(const Group::State& group, const CollectiveCall& call, void* memory,
                                   std::size_t bytes, const std::vector<Adoption>& adoptions) {
  Device& device = group.context.device;
  const std::string mine = pack({std::to_string(number_of(memory)), std::to_string(device.index())});
  std::vector<char*> bases;
  std::vector<int> devices;
  for (const std::string& said : group.collectives->all_gather(call, mine)) {
    const std::vector<std::string> texts = unpack(said, 2);
    bases.push_back(reinterpret_cast<char*>(std::stoull(texts[0])));  // NOLINT(performance-no-int-to-ptr)
    devices.push_back(std::stoi(texts[1]));
  }
  group.collectives->all_gather_or_fail(call, words_of_attempt([&] {
                                          check_apart(group.ranks, bases, bytes, adoptions);
                                          device.open_to_devices(memory, bytes, devices);
                                        }));
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

/// Ranks that are processes hand over what stands for their memory, and map that of the others.
std::vector<char*> map_processes(const Group::State& group, const CollectiveCall& call, void* memory,
                                 std::size_t bytes) {
  Device& device = group.context.device;
  Collectives& members = *group.collectives;
  Steps steps(device);
  ExportedMemory exported;
  Collectives::Files files;
  files.error = words_of_attempt([&] {
    exported = device.export_adopted(memory, bytes);
    steps.add(memory);
    files.own.reserve(exported.files.size());
    for (const int file : exported.files) files.own.emplace_back(file);
  });
  std::vector<ExportedMemory> theirs;
  for (const std::string& said : members.all_gather_or_fail(call, files.error, pack_export(exported))) {
    theirs.push_back(unpack_export(said));
  }
  std::vector<char*> bases(theirs.size());
  bases[static_cast<std::size_t>(group.rank)] = static_cast<char*>(memory);
  const auto import_of = [&](std::size_t peer) {
    bases[peer] = static_cast<char*>(device.import_adopted(theirs[peer], bytes));
    steps.add(bases[peer]);
  };
  // What a handle stands for comes without files, which alone are handed over.
  files.error = words_of_attempt([&] {
    for (std::size_t peer = 0; peer < theirs.size(); ++peer) {
      if (bases[peer] == nullptr && theirs[peer].sizes.empty()) import_of(peer);
    }
  });
  members.hand_over(call, files, [&](int rank, const std::vector<Descriptor>& given) {
    const auto peer = static_cast<std::size_t>(rank);
    for (const Descriptor& file : given) theirs[peer].files.push_back(file.get());
    import_of(peer);
  });
  steps.keep();
  return bases;
}

}  // namespace

void AdoptedMemory::adopt(const Group::State& group, void* memory, std::size_t bytes, std::string refusal) {
  const CollectiveCall call{.call = group.call("as_symmetric(" + std::to_string(bytes) + " bytes)"), .state = {}};
  const Device& device = group.context.device;
  if (refusal.empty()) refusal = describe_refusal(device, memory, bytes);
  std::uint64_t last = 0;
  for (const std::string& said : group.collectives->all_gather_or_fail(call, refusal, std::to_string(last_number_))) {
    last = std::max<std::uint64_t>(last, std::stoull(said));
  }
  const std::vector<char*> bases = group.collectives->share_addresses()
                                       ? open_to_threads(group, call, memory, bytes, adoptions_)
                                       : map_processes(group, call, memory, bytes);
  last_number_ = last + 1;
  Adoption made{.number = last_number_,
                .members = group.members(),
                .begin = static_cast<char*>(memory),
                .bytes = bytes,
                .allocation = device.allocation_of(memory),
                .bases = std::vector<char*>(group.context.bases.size())};
  for (std::size_t i = 0; i < bases.size(); ++i) made.bases[static_cast<std::size_t>(group.ranks[i])] = bases[i];
  const auto behind = std::ranges::upper_bound(adoptions_, made.begin, std::less<>(), &Adoption::begin);
  adoptions_.insert(behind, std::move(made));
}

void AdoptedMemory::release(const Group::State& group, void* memory, const std::string& failure) {
  Collectives& members = *group.collectives;
  Device& device = group.context.device;
  const auto found = std::ranges::find(adoptions_, static_cast<char*>(memory), &Adoption::begin);
  if (found == adoptions_.end() || found->members != group.members()) {
    members.all_gather_or_fail({.call = group.call("release_symmetric(memory that was not adopted)"), .state = {}},
                               failure);
    throw std::runtime_error("rank " + std::to_string(group.context.rank) + " releases memory that as_symmetric()" +
                             group.suffix + " did not adopt, or that is released already");
  }
  const CollectiveCall call{.call = group.call("release_symmetric(adopted memory " + std::to_string(found->number) +
                                               ", " + std::to_string(found->bytes) + " bytes)"),
                            .state = {}};
  members.all_gather_or_fail(call, failure);  // nobody uses it any more
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

std::string AdoptedMemory::describe_refusal(const Device& device, const void* memory, std::size_t bytes) const {
  if (memory == nullptr) return "the memory is null";
  if (bytes == 0) return "there is nothing to adopt";
  if (number_of(memory) + bytes < bytes) return "no memory is as long; give the bytes that it has";
  for (const Adoption& each : adoptions_) {
    if (!overlap(memory, bytes, each.begin, each.bytes)) continue;
    const std::string other = "the memory overlaps adopted memory " + std::to_string(each.number) + ", of " +
                              std::to_string(each.bytes) + " bytes";
    const bool freed = each.allocation != 0 && device.allocation_of(each.begin) != each.allocation;
    if (!freed) return other + "; release that first, or adopt both as one range";
    return other + ", which was freed before it was released, so that peers still address what it was; have every " +
           "member release_symmetric() it, by the address at which it began";
  }
  return {};
}

}  // namespace iris
