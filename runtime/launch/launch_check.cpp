#include "runtime/launch/launch_check.hpp"

#include <optional>
#include <stdexcept>
#include <string>

#include <iris/device/abi.hpp>
#include "runtime/world/heap.hpp"

namespace iris {

namespace {

using irisgen::Access;
using irisgen::Argument;
using irisgen::Extents;
using irisgen::Manifest;

constexpr std::int64_t max_bytes = std::int64_t{1} << 62;
constexpr std::int64_t half_alignment = 256;

std::runtime_error error_of(const Manifest& manifest, const std::string& what) {
  return std::runtime_error(manifest.name + ": " + what);
}

std::string quoted(const Argument& argument) {
  return "'" + argument.name + "'";
}

std::int64_t extent_of(const Extents& extents, char name) {
  return name == 'm' ? extents.m : name == 'n' ? extents.n : extents.k;
}

std::int64_t resolve(const Manifest& manifest, char name, const irisgen::Extent& fixed,
                     const std::optional<std::int64_t>& given) {
  if (!fixed.dynamic) {
    if (given.has_value() && *given != fixed.value) {
      throw error_of(manifest, std::string(1, name) + " is " + std::to_string(fixed.value) + " in this kernel, not " +
                                   std::to_string(*given));
    }
    return fixed.value;
  }
  if (!given.has_value()) {
    throw error_of(manifest, std::string(1, name) + " is dynamic, so every launch must give it");
  }
  if (*given < 0)
    throw error_of(manifest, std::string(1, name) + " is " + std::to_string(*given) + "; it must be >= 0");
  return *given;
}

/// a · b, or nothing if it is over max_bytes. Both are >= 0.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > max_bytes) return std::nullopt;
  return result;
}

void check_shape(const Manifest& manifest, const Argument& argument, const Extents& extents) {
  std::optional<std::int64_t> bytes = irisgen::bytes_of(argument.dtype);
  for (const Argument::Dimension& dimension : argument.shape) {
    const std::int64_t extent = extent_of(extents, dimension.extent);
    if (extent % dimension.divisor != 0) {
      throw error_of(manifest, std::string(1, dimension.extent) + " = " + std::to_string(extent) +
                                   " must be a multiple of " + std::to_string(dimension.divisor) + ", since " +
                                   quoted(argument) + " is divided among the ranks");
    }
    const auto length = product(extent / dimension.divisor, dimension.factor);
    if (bytes.has_value()) bytes = length.has_value() ? product(*bytes, *length) : std::nullopt;
  }
  if (!bytes.has_value()) throw error_of(manifest, quoted(argument) + " has more than 2^62 bytes with these extents");
}

bool overlap(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && first < second + static_cast<std::uintptr_t>(b_bytes) &&
         second < first + static_cast<std::uintptr_t>(a_bytes);
}

void check_aliasing(const Manifest& manifest, const Extents& extents, std::span<void* const> buffers) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (std::size_t j = i + 1; j < buffers.size(); ++j) {
      const Argument& a = manifest.arguments[i];
      const Argument& b = manifest.arguments[j];
      if (a.access == Access::read && b.access == Access::read) continue;
      if (!overlap(buffers[i], bytes_of(a, extents), buffers[j], bytes_of(b, extents))) continue;
      if (!manifest.in_place) {
        throw error_of(manifest, quoted(a) + " and " + quoted(b) + " overlap; this kernel cannot work in place");
      }
      if (buffers[i] != buffers[j]) {
        throw error_of(manifest, quoted(a) + " and " + quoted(b) +
                                     " overlap in part; they must be the same buffer or have nothing in common");
      }
    }
  }
}

}  // namespace

Extents resolve_extents(const Manifest& manifest, const LaunchExtents& given) {
  const Extents extents{.m = resolve(manifest, 'm', manifest.m, given.m),
                        .n = resolve(manifest, 'n', manifest.n, given.n),
                        .k = resolve(manifest, 'k', manifest.k, given.k)};
  for (const Argument& argument : manifest.arguments) check_shape(manifest, argument, extents);
  return extents;
}

void check_capacity(const Manifest& manifest, const Extents& extents, const Extents& capacity) {
  for (const char name : {'m', 'n', 'k'}) {
    if (extent_of(extents, name) <= extent_of(capacity, name)) continue;
    throw error_of(manifest, std::string(1, name) + " = " + std::to_string(extent_of(extents, name)) +
                                 " is over the capacity of " + std::to_string(extent_of(capacity, name)) +
                                 " that the kernel was loaded with");
  }
}

std::int64_t bytes_of(const Argument& argument, const Extents& extents) {
  std::int64_t bytes = irisgen::bytes_of(argument.dtype);
  for (const std::int64_t length : irisgen::shape_of(argument, extents.m, extents.n, extents.k)) bytes *= length;
  return bytes;
}

std::int64_t workspace_bytes(const Manifest& manifest, const Extents& capacity) {
  std::optional<std::int64_t> scaled = manifest.workspace.scale;
  for (const char name : manifest.workspace.extents) {
    if (scaled.has_value()) scaled = product(*scaled, extent_of(capacity, name));
  }
  if (!scaled.has_value() || *scaled > max_bytes - manifest.workspace.fixed) {
    throw error_of(manifest, "the workspace for this capacity has more than 2^62 bytes; lower the capacity");
  }
  const std::int64_t bytes = manifest.workspace.fixed + *scaled;
  return (bytes + 2 * half_alignment - 1) / (2 * half_alignment) * (2 * half_alignment);
}

KernelLayout layout_of(const Manifest& manifest, const Extents& capacity) {
  const auto aligned = [](std::int64_t bytes) {
    constexpr auto unit = static_cast<std::int64_t>(Heap::alignment);
    return (bytes + unit - 1) / unit * unit;
  };
  return {.flags = aligned(manifest.flags * std::int64_t{sizeof(device::u32)}),
          .epochs = aligned(manifest.blocks * std::int64_t{sizeof(device::Epoch)}),
          .workspace = workspace_bytes(manifest, capacity)};
}

void check_buffers(const Manifest& manifest, const Extents& extents, std::span<void* const> buffers,
                   const std::function<bool(const void*, std::size_t)>& is_symmetric) {
  if (buffers.size() != manifest.arguments.size()) {
    throw error_of(manifest, "takes " + std::to_string(manifest.arguments.size()) + " buffers, not " +
                                 std::to_string(buffers.size()));
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Argument& argument = manifest.arguments[i];
    const std::int64_t bytes = bytes_of(argument, extents);
    if (bytes == 0) continue;
    if (buffers[i] == nullptr) {
      throw error_of(manifest, quoted(argument) + " is null but has " + std::to_string(bytes) + " bytes");
    }
    if (reinterpret_cast<std::uintptr_t>(buffers[i]) % static_cast<std::uintptr_t>(argument.alignment) != 0) {
      throw error_of(manifest,
                     quoted(argument) + " is not aligned to " + std::to_string(argument.alignment) + " bytes");
    }
    if (argument.symmetric && !is_symmetric(buffers[i], static_cast<std::size_t>(bytes))) {
      throw error_of(manifest, quoted(argument) + " (" + std::to_string(bytes) +
                                   " bytes) does not lie on the symmetric heap; take it from Context::allocate");
    }
  }
  check_aliasing(manifest, extents, buffers);
}

}  // namespace iris
