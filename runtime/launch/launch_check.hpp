#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "iris/manifest.hpp"

namespace iris {

/// The extents of a launch: the manifest's own, and the dynamic ones from `given`. Throws std::runtime_error naming the
/// extent if one is missing, unknown, negative, contradicts the manifest, does not divide as a buffer's shape demands,
/// or makes a buffer of more than 2^62 bytes.
Extents resolve_extents(const Manifest& manifest, const Extents& given);
/// The same of what bounds the extents of all launches.
Extents resolve_capacity(const Manifest& manifest, const Extents& given);

/// Throws if a dynamic extent is larger than the operation was loaded for.
void check_capacity(const Manifest& manifest, const Extents& extents, const Extents& capacity);

/// The numbers of a launch, in the manifest's order. Throws std::runtime_error naming the one that is missing, unknown,
/// or no value of its type.
std::vector<ScalarBytes> resolve_scalars(const Manifest& manifest, const Scalars& given);

/// Bytes of one argument on each rank; for extents that resolve_extents has accepted.
std::int64_t bytes_of(const Argument& argument, const Extents& extents);

/// What a kernel keeps on the symmetric heap of each rank, in bytes from the operation's own memory; each part is a
/// multiple of 256 long.
struct KernelLayout {
  std::int64_t flags = 0;
  std::int64_t launches = 0;  ///< one count for each block
  std::int64_t workspace = 0;
  std::int64_t workspace_bytes = 0;
};
struct OperationLayout {
  std::vector<KernelLayout> kernels;
  std::int64_t cleared_bytes = 0;           ///< from 0: flags, counts and workspaces of all kernels, zero at first
  std::vector<std::int64_t> intermediates;  ///< from the operation's own memory, on the heap or on the device
  std::int64_t total_bytes = 0;             ///< on the heap
  std::int64_t device_bytes = 0;            ///< beside it, where no other rank comes
};
/// For launches of up to these extents.
OperationLayout layout_of(const Manifest& manifest, const Extents& capacity);

/// The steps of a launch with these extents.
const Schedule& schedule_for(const Manifest& manifest, const Extents& extents);

/// Throws std::runtime_error naming the argument if the number of buffers of a rank, an alignment, the aliasing or the
/// symmetry is not as the manifest demands. `bytes` are those of each argument. A buffer may be null only if it has
/// none.
void check_buffers(const Manifest& manifest, int rank, std::span<const std::int64_t> bytes,
                   std::span<void* const> pointers, const std::function<bool(const void*, std::size_t)>& is_allocated);

}  // namespace iris
