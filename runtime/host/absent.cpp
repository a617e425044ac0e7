#include <stdexcept>

#include "iris/device.hpp"

namespace iris {

namespace {

constexpr const char* remedy =
    "this irisgen was built without the engine that runs kernels on the CPU; install libboost-context-dev and "
    "configure with -DIRISGEN_HOST=ON";

}  // namespace

DeviceGroup open_host_devices(int /*ranks*/, std::uint64_t /*seed*/, SourceLocator /*locate*/, StoreWatch* /*watch*/) {
  throw std::runtime_error(remedy);
}

DeviceGroup open_host_device(const HostProcess& /*process*/, std::uint64_t /*seed*/, SourceLocator /*locate*/) {
  throw std::runtime_error(remedy);
}

}  // namespace iris
