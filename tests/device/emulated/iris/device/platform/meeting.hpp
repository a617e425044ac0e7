#pragma once

#include <iris/device/types.hpp>

namespace iris::device::platform::emulated {

/// Threads that meet: those of a warp, or of a group that is called by a number.
struct Meeting {
  u32 arrived;
  u32 met;  // times
  u32 all;
  u32 outcome;

  bool meet(bool mine, u32 threads) {
    const u32 before = met;
    all = (arrived == 0 || all != 0) && mine ? 1 : 0;
    if (++arrived == threads) {
      arrived = 0;
      outcome = all;
      fetch_add<Order::release, Scope::block>(&met, 1U);
    } else {
      while (atomic_load<Order::acquire, Scope::block>(&met) == before) {
      }
    }
    return outcome != 0;  // the next meeting's waits for this thread
  }
};

}  // namespace iris::device::platform::emulated
