#include "runtime/hip/devices.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/hip/device.hpp"

namespace iris {
namespace hip {
namespace {

[[noreturn]] void refuse_unlike(const std::string& first, int device, const std::string& other) {
  std::string sentence = "the GPUs of one world must be alike: device 0 is " + first;
  sentence += ", device " + std::to_string(device) + " is " + other;
  throw std::runtime_error(sentence + "; choose equal ones with HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES");
}

/// What all devices of a group run: a kernel is compiled for one target.
std::string common_target(const Api& api, int devices) {
  const std::string first = api.architecture(api, 0);
  for (int device = 1; device < devices; ++device) {
    const std::string other = api.architecture(api, device);
    if (other != first) refuse_unlike(first, device, other);
  }
  if (first.empty()) throw std::runtime_error("device 0 does not tell its architecture, for which code would be made");
  return first;
}

void enable_peer_access(const Api& api, int device, int peer) {
  const Caller caller{&api, device, device};  // the first rank on a device has its number
  int can = 0;
  caller.check(api.call.hipDeviceCanAccessPeer(&can, device, peer), "hipDeviceCanAccessPeer");
  if (!can)
    throw std::runtime_error("device " + std::to_string(device) + " cannot address the memory of device " +
                             std::to_string(peer) +
                             "; the GPUs of one world must be linked (NVLink, xGMI, or PCIe with peer access)");
  caller.check(api.call.hipSetDevice(device), "hipSetDevice");
  const Error error = api.call.hipDeviceEnablePeerAccess(peer, 0);
  // Another group, or other code of this process, may have enabled it.
  if (error != peer_access_already_enabled)
    caller.check(error, "hipDeviceEnablePeerAccess", "peer " + std::to_string(peer));
}

/// A driver sets up a way of copying at its first use, and may wait for the whole device to do so: now, not while
/// kernels of ranks that share the device wait for one another. Small copies and large ones may go different ways.
void prime_copies(Api::Primed& primed, const std::vector<std::unique_ptr<Device>>& devices) {
  const std::lock_guard lock(primed.mutex);
  if (devices.size() <= primed.devices) return;
  constexpr std::size_t large = std::size_t{1} << 20;
  const auto release_all = [&](std::vector<void*>& memories) {
    for (std::size_t i = 0; i < memories.size(); ++i) devices[i]->release(memories[i]);
  };
  std::vector<void*> memories;
  try {
    for (const auto& device : devices) {
      device->bind();
      memories.push_back(device->allocate(2 * large));
    }
    for (std::size_t from = 0; from < devices.size(); ++from) {
      devices[from]->bind();
      for (void* const to : memories) {
        for (const std::size_t bytes : {std::size_t{1}, large}) {
          devices[from]->copy(static_cast<char*>(to) + large, memories[from], bytes);
        }
      }
    }
  } catch (...) {
    release_all(memories);
    throw;
  }
  release_all(memories);
  primed.devices = devices.size();
}

std::string device_name(const Api& api, int device) {
  std::string name(256, '\0');
  if (api.call.hipDeviceGetName(name.data(), static_cast<int>(name.size()), device) != success) return {};
  return name.substr(0, name.find('\0'));
}

DeviceInfo describe(const Api& api, int device) {
  DeviceInfo info{device, device_name(api, device), api.architecture(api, device), 0, 0};
  int units = 0;
  if (api.call.hipDeviceGetAttribute(&units, multiprocessor_count, device) == success) info.compute_units = units;
  std::size_t bytes = 0;
  if (api.call.hipDeviceTotalMem(&bytes, device) == success) info.memory_bytes = bytes;
  return info;
}

}  // namespace

DeviceGroup open_devices(const Api& api, int ranks) {
  const int used = std::min(ranks, api.devices);
  const std::string target = common_target(api, used);
  for (int device = 0; device < used; ++device) {
    for (int peer = 0; peer < used; ++peer) {
      if (peer != device) enable_peer_access(api, device, peer);
    }
  }
  DeviceGroup group;
  group.ranks_per_device.assign(static_cast<std::size_t>(used), 0);
  for (int rank = 0; rank < ranks; ++rank) {
    const int device = rank % used;
    const bool shared = device + used < ranks;
    group.devices.push_back(std::make_unique<HipDevice>(api, rank, device, target, shared));
    ++group.ranks_per_device[static_cast<std::size_t>(device)];
    if (rank + 1 == used) prime_copies(*api.primed, group.devices);  // one for each device so far
  }
  return group;
}

DeviceGroup open_device(const Api& api, int rank, int number) {
  const int index = number % api.devices;
  const std::string target = api.architecture(api, index);
  if (target.empty()) {
    throw std::runtime_error("device " + std::to_string(index) +
                             " does not tell its architecture, for which code would be made");
  }
  DeviceGroup group;
  group.devices.push_back(std::make_unique<HipDevice>(api, rank, index, target, false));
  group.ranks_per_device.assign(static_cast<std::size_t>(index) + 1, 1);
  return group;
}

DeviceSurvey survey(const LoadedApi& loaded) {
  DeviceSurvey survey;
  survey.missing = loaded.missing;
  survey.api = loaded.api.description;
  for (int device = 0; device < loaded.api.devices; ++device) survey.gpus.push_back(describe(loaded.api, device));
  return survey;
}

}  // namespace hip

DeviceGroup open_hip_devices(int ranks) {
  const hip::LoadedApi& loaded = hip::machine_api();
  if (!loaded) throw std::runtime_error(loaded.missing);
  return hip::open_devices(loaded.api, ranks);
}

DeviceGroup open_hip_device(int rank, int number) {
  const hip::LoadedApi& loaded = hip::machine_api();
  if (!loaded) throw std::runtime_error(loaded.missing);
  return hip::open_device(loaded.api, rank, number);
}

DeviceSurvey survey_gpus() {
  return hip::survey(hip::machine_api());
}

}  // namespace iris
