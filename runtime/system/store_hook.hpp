#pragma once

#include <cstdint>

namespace iris {

/// A kernel for the CPU that was compiled to tell of its stores calls this before each: so many bytes from an address
/// on are about to be written by the running device thread. Its library exports the variable of that name, which
/// whoever loads the library must set before the first launch.
using StoreHook = void (*)(const void* address, std::uint64_t bytes);
inline constexpr const char* store_hook_variable = "iris_host_on_store";

}  // namespace iris
