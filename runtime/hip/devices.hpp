#pragma once

#include "iris/device.hpp"
#include "runtime/hip/api.hpp"

namespace iris::hip {

/// iris::open_hip_devices on a given library, which must outlive the group.
DeviceGroup open_devices(const Api& api, int ranks);

/// iris::open_hip_device on a given library, which must outlive the group.
DeviceGroup open_device(const Api& api, int rank, int number);

/// iris::survey_gpus on a given library. Throws nothing for a device that cannot be asked: its fields stay empty.
DeviceSurvey survey(const LoadedApi& loaded);

}  // namespace iris::hip
