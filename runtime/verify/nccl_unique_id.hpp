#pragma once

namespace iris {

/// ncclUniqueId, by which the ranks of one group find one another. Passed by value.
struct NcclUniqueId {
  char bytes[128];
};

}  // namespace iris
