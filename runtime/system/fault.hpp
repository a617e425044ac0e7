#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <iris/device/abi.hpp>

namespace iris {

/// What a wait is for, completing "waits for rank 3 …": "to deliver its contribution".
std::string_view describe(device::Wait wait);

/// "gradient_sum: rank 2, block 5 waited 10 s for rank 3 to deliver its contribution; expected step 7, saw 6".
std::string describe(const device::Fault& fault, std::string_view kernel, std::uint64_t timeout_ns);

/// "0.25 s", "10 s", "150 us": a duration as people say it.
std::string describe_duration(std::uint64_t nanoseconds);

}  // namespace iris
