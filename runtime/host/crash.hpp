#pragma once

#include <string>

#include "iris/device.hpp"
#include "runtime/host/grid.hpp"

namespace iris::host {

/// An instruction that the CPU would not do: an access where there is no memory, say.
struct Crash {
  int signal = 0;
  const void* address = nullptr;  ///< of the access; null as well where it is none that there can be
  bool has_address = false;
  const void* instruction = nullptr;  ///< null where this CPU's registers are not known here
};

/// Has this called at each crash of any of the process's threads, on that thread, from now on. It leaves by a jump if
/// the crash is a kernel's; if it returns, whoever had the signal before gets it. The first call alone counts. Does
/// nothing under AddressSanitizer, which reports more.
void catch_crashes(void (*leave)(const Crash& crash));

/// The calling thread takes no signals from now on but those of a crash, whatever the thread took that started it.
void admit_crash_signals_alone();

/// `k, rank 1, block 0, thread 3, at k.hip:12:3: …`, with what to do about it.
std::string describe_crash(const Crash& crash, const DeviceThread& thread, const SourceLocator& locate);

}  // namespace iris::host
