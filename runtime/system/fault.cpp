#include "runtime/system/fault.hpp"

#include <array>
#include <cstdio>

namespace iris {

std::string_view describe(device::Wait wait) {
  switch (wait) {
    case device::Wait::entry:
      return "to enter the collective";
    case device::Wait::arrival:
    case device::Wait::line:
      return "to deliver its contribution";
    case device::Wait::exit:
      return "to finish its reads and writes";
    case device::Wait::step:
      return "to send the next step";
    case device::Wait::barrier:
      return "to come to the barrier";
    case device::Wait::lock:
      return "to be unlocked";
    case device::Wait::none:
      break;
  }
  return "to signal";
}

std::string describe_duration(std::uint64_t nanoseconds) {
  struct Unit {
    double nanoseconds;
    const char* name;
  };
  constexpr std::array<Unit, 4> units{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  const auto value = static_cast<double>(nanoseconds);
  for (const Unit& unit : units) {
    if (value < unit.nanoseconds) continue;
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%.4g %s", value / unit.nanoseconds, unit.name);
    return text.data();
  }
  return "0 ns";
}

std::string describe_flag(device::u64 value) {
  const device::u64 launch = value >> device::flag_step_bits;
  if (launch == 0) return "no launch";
  const device::u64 step = value & ((device::u64{1} << device::flag_step_bits) - 1);
  return "step " + std::to_string(step) + " of launch " + std::to_string(launch);
}

std::string describe(const device::Fault& fault, std::string_view kernel, std::uint64_t timeout_ns) {
  return std::string(kernel) + ": rank " + std::to_string(fault.rank) + ", block " + std::to_string(fault.block) +
         " waited " + describe_duration(timeout_ns) + " for rank " + std::to_string(fault.peer) + " " +
         std::string(describe(fault.wait)) + "; expected " + describe_flag(fault.expected) + ", saw " +
         describe_flag(fault.seen);
}

std::string describe_overlap(std::string_view kernel, int rank) {
  return std::string(kernel) + ": two of its launches on rank " + std::to_string(rank) +
         " overlapped, though they share flags and workspace, so their results are not to be trusted; let launches of "
         "one "
         "operation follow one another, and graphs of them, in one stream or by events, or make an operation for each";
}

}  // namespace iris
