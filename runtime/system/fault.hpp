#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "iris/device/abi.hpp"

namespace iris {

/// What a wait is for, completing "waits for rank 3 …": "to deliver its contribution".
std::string_view describe(device::Wait wait);

/// What a flag shows: "step 2 of launch 7", steps counted from 0 and launches from 1; "no launch" for 0.
std::string describe_flag(device::u64 value);

/// "gradient_sum: rank 2, block 5 waited 10 s for rank 3 to deliver its contribution; expected step 0 of launch 2, saw
/// step 1 of launch 1".
std::string describe(const device::Fault& fault, std::string_view kernel, std::uint64_t timeout_ns);

/// What a rank says of launches that overlapped, which may be why a wait of theirs ran out of time: "gradient_sum: two
/// of its launches on rank 2 overlapped …".
std::string describe_overlap(std::string_view kernel, int rank);

/// "0.25 s", "10 s", "150 us": a duration as people say it.
std::string describe_duration(std::uint64_t nanoseconds);

}  // namespace iris
