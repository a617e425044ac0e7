#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "iris/kernel.hpp"
#include "iris/manifest.hpp"
#include "irisgen/pattern.hpp"

namespace iris {

/// The extents of a launch: the manifest's own, and the dynamic ones from `given`. Throws std::runtime_error naming the
/// extent if one is missing, negative, contradicts the manifest, does not divide as an argument's shape demands, or
/// makes an argument of more than 2^62 bytes.
irisgen::Extents resolve_extents(const irisgen::Manifest& manifest, const LaunchExtents& given);

/// Throws if a dynamic extent is larger than the kernel was loaded for.
void check_capacity(const irisgen::Manifest& manifest, const irisgen::Extents& extents,
                    const irisgen::Extents& capacity);

/// Bytes of one argument on each rank; for extents that resolve_extents has accepted.
std::int64_t bytes_of(const irisgen::Argument& argument, const irisgen::Extents& extents);

/// What a kernel keeps on the symmetric heap of each rank, one part after the other: bytes of each, multiples of 256.
struct KernelLayout {
  std::int64_t flags = 0;
  std::int64_t epochs = 0;
  std::int64_t workspace = 0;
  std::int64_t total() const { return flags + epochs + workspace; }
};
KernelLayout layout_of(const irisgen::Manifest& manifest, const irisgen::Extents& capacity);

/// Bytes of workspace for launches of up to these extents: two halves, each a multiple of 256 bytes.
std::int64_t workspace_bytes(const irisgen::Manifest& manifest, const irisgen::Extents& capacity);

/// Throws std::runtime_error naming the argument if the number of buffers, an alignment, the aliasing or the symmetry
/// is not as the manifest demands. A buffer may be null only if it has no bytes.
void check_buffers(const irisgen::Manifest& manifest, const irisgen::Extents& extents, std::span<void* const> buffers,
                   const std::function<bool(const void*, std::size_t)>& is_symmetric);

}  // namespace iris
