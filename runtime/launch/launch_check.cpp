#include "runtime/launch/launch_check.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "iris/device/abi.hpp"
#include "runtime/world/heap.hpp"

namespace iris {

namespace {

constexpr std::int64_t max_bytes = std::int64_t{1} << 62;

std::runtime_error error_of(const Manifest& manifest, const std::string& what) {
  return std::runtime_error(manifest.name + ": " + what);
}

std::string in_quotes(const std::string& name) {
  return "'" + name + "'";
}

std::int64_t resolve(const Manifest& manifest, const NamedExtent& named, const Extents& given_extents) {
  const auto& [name, fixed] = named;
  const auto given = given_extents.find(name);
  if (!fixed.dynamic) {
    if (given.has_value() && *given != fixed.value) {
      throw error_of(manifest,
                     name + " is " + std::to_string(fixed.value) + " in this kernel, not " + std::to_string(*given));
    }
    return fixed.value;
  }
  if (!given.has_value()) throw error_of(manifest, name + " is dynamic, so every launch must give it");
  if (*given < 0) throw error_of(manifest, name + " is " + std::to_string(*given) + "; it must be >= 0");
  return *given;
}

/// a · b, or nothing if it is over max_bytes. Both are >= 0.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || result > max_bytes) return std::nullopt;
  return result;
}

void check_shape(const Manifest& manifest, const std::string& buffer, Dtype dtype, const std::vector<Dimension>& shape,
                 const Extents& extents) {
  std::optional<std::int64_t> bytes = bytes_of(dtype);
  for (const Dimension& dimension : shape) {
    const std::int64_t extent = dimension.extent.empty() ? 0 : extents.at(dimension.extent);
    if (extent % dimension.divisor != 0) {
      throw error_of(manifest, dimension.extent + " = " + std::to_string(extent) + " must be a multiple of " +
                                   std::to_string(dimension.divisor) + ", since " + in_quotes(buffer) +
                                   " is divided among the ranks");
    }
    auto length = product(extent / dimension.divisor, dimension.factor);
    if (length.has_value()) length = *length + dimension.offset;
    if (length.has_value() && *length < 0) {
      throw error_of(manifest, dimension.extent + " = " + std::to_string(extent) + " gives " + in_quotes(buffer) +
                                   " a dimension of " + std::to_string(*length) + " elements");
    }
    if (length.has_value())
      length = product((*length + dimension.multiple - 1) / dimension.multiple, dimension.multiple);
    if (bytes.has_value()) bytes = length.has_value() ? product(*bytes, *length) : std::nullopt;
  }
  if (!bytes.has_value()) throw error_of(manifest, in_quotes(buffer) + " has more than 2^62 bytes with these extents");
}

/// A buffer of a launch.
struct Buffer {
  const Argument& argument;
  std::uintptr_t begin;
  std::int64_t bytes;

  std::uintptr_t end() const { return begin + static_cast<std::uintptr_t>(bytes); }
};

/// All of a launch, on one rank.
struct LaunchBuffers {
  const Manifest& manifest;
  int rank;
  std::span<const std::int64_t> bytes;
  std::span<void* const> pointers;

  std::size_t size() const { return pointers.size(); }
  Buffer operator[](std::size_t i) const {
    return {manifest.arguments[i], reinterpret_cast<std::uintptr_t>(pointers[i]), bytes[i]};
  }
};

bool overlap(const Buffer& a, const Buffer& b) {
  return a.bytes > 0 && b.bytes > 0 && a.begin < b.end() && b.begin < a.end();
}

/// Where the rank's own block of a buffer begins, if it is as long as another one.
std::uintptr_t own_block(int rank, const Buffer& buffer, const Buffer& as_long_as) {
  return buffer.begin + static_cast<std::uintptr_t>(rank * as_long_as.bytes);
}

/// Whether a buffer is the rank's own block of another, whose alignment is enough for both.
bool is_own_block(const LaunchBuffers& buffers, const Buffer& buffer) {
  if (buffers.manifest.in_place != InPlace::own_block) return false;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer other = buffers[i];
    if (buffer.bytes < other.bytes && buffer.begin == own_block(buffers.rank, other, buffer)) return true;
  }
  return false;
}

void check_alignment(const Manifest& manifest, const Buffer& buffer) {
  const auto& [argument, begin, bytes] = buffer;
  if (begin % static_cast<std::uintptr_t>(argument.alignment) == 0) return;
  std::string text = in_quotes(argument.name) + " is not aligned to " + std::to_string(argument.alignment) + " bytes";
  const std::int64_t vector = (std::int64_t{1} << std::countr_zero(begin)) / bytes_of(manifest.problem.dtype);
  const bool multiplies = manifest.problem.layout_b.has_value();
  if (vector > 0 && !multiplies) {
    text += ", as this kernel's accesses are; align it, or describe the kernel with config: {vector: " +
            std::to_string(vector) + "}, which makes narrower ones";
  }
  throw error_of(manifest, text);
}

void check_overlap(const Manifest& manifest, int rank, const Buffer& a, const Buffer& b) {
  const std::string overlap = in_quotes(a.argument.name) + " and " + in_quotes(b.argument.name) + " overlap";
  if (manifest.in_place == InPlace::no) {
    throw error_of(manifest, overlap + "; variant " + manifest.variant + " of this kernel cannot work in place");
  }
  if (manifest.in_place == InPlace::same_buffer) {
    if (a.begin == b.begin) return;
    throw error_of(manifest, overlap + " in part; they must be the same buffer or have nothing in common");
  }
  const auto& [block, whole] = a.bytes < b.bytes ? std::tie(a, b) : std::tie(b, a);
  if (block.begin == own_block(rank, whole, block)) return;
  throw error_of(manifest, overlap + "; " + in_quotes(block.argument.name) + " must be block " + std::to_string(rank) +
                               " of " + in_quotes(whole.argument.name) + ", this rank's own, which begins " +
                               std::to_string(rank * block.bytes) +
                               " bytes after it, or they must have nothing in common");
}

void check_aliasing(const LaunchBuffers& buffers) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (std::size_t j = i + 1; j < buffers.size(); ++j) {
      const Buffer a = buffers[i];
      const Buffer b = buffers[j];
      if (a.argument.access == Access::read && b.argument.access == Access::read) continue;
      if (overlap(a, b)) check_overlap(buffers.manifest, buffers.rank, a, b);
    }
  }
}

std::int64_t aligned(std::int64_t bytes) {
  constexpr auto unit = static_cast<std::int64_t>(Heap::alignment);
  return (bytes + unit - 1) / unit * unit;
}

/// The product of a term's extents, over all launches of the kernel within the capacity.
std::optional<std::int64_t> most_of(const Manifest& manifest, std::size_t kernel, const ByteSize::Term& term,
                                    const Extents& capacity) {
  std::optional<std::int64_t> most = 1;
  for (const std::string& name : term.extents) {
    const std::int64_t longest = std::min(capacity.at(name), largest_length(manifest.schedules, kernel, name));
    if (most.has_value()) most = product(*most, longest);
  }
  // Where the term names every dynamic extent, the size bounds their product.
  std::int64_t fixed = 1;
  for (const auto& [name, extent] : manifest.problem.extents) {
    if (!extent.dynamic) {
      fixed = std::max<std::int64_t>(1, product(fixed, extent.value).value_or(fixed));
    } else if (std::ranges::find(term.extents, name) == term.extents.end()) {
      return most;
    }
  }
  const std::int64_t largest = largest_size(manifest.schedules, kernel);
  if (term.extents.empty() || largest == every_size) return most;
  return std::min(most.value_or(max_bytes), largest / fixed);
}

std::int64_t workspace_bytes(const Manifest& manifest, std::size_t kernel, const Extents& capacity) {
  if (size_of(manifest.problem, capacity) < least_size(manifest.schedules, kernel)) return 0;  // it is never launched
  std::int64_t bytes = 0;
  for (const ByteSize::Term& term : manifest.kernels[kernel].workspace.terms) {
    const auto most = most_of(manifest, kernel, term, capacity);
    const auto scaled = most.has_value() ? product(term.bytes, *most) : std::nullopt;
    if (!scaled.has_value() || *scaled > max_bytes - bytes) {
      throw error_of(manifest, "the workspace for this capacity has more than 2^62 bytes; lower the capacity");
    }
    bytes += *scaled;
  }
  return 2 * aligned((bytes + 1) / 2);  // two ping-pong buffers
}

/// Of the longest launch within the capacity that uses the buffer.
std::int64_t buffer_bytes(const Manifest& manifest, const Intermediate& buffer, const Extents& capacity) {
  Extents longest;
  for (const auto& [name, length] : capacity)
    longest.set(name, std::min(length, largest_length(manifest.schedules, buffer, name)));
  std::int64_t bytes = bytes_of(buffer.dtype);
  for (const Dimension& dimension : buffer.shape) bytes *= length_of(dimension, longest);
  return bytes;
}

}  // namespace

Extents resolve_capacity(const Manifest& manifest, const Extents& given) {
  for (const std::string& name : manifest.problem.dynamic_extents()) {
    if (given.find(name)) continue;
    throw error_of(manifest, name + " is dynamic, and capacity does not say how much launches will give at most");
  }
  return resolve_extents(manifest, given);
}

Extents resolve_extents(const Manifest& manifest, const Extents& given) {
  for (const auto& [name, value] : given) {
    if (!manifest.problem.has_extent(name)) {
      throw error_of(manifest, "there is no extent " + in_quotes(name) + " in this kernel");
    }
    if (std::ranges::count(given, name, &Extents::Entry::first) > 1) {
      throw error_of(manifest, name + " is given twice");
    }
  }
  Extents extents;
  for (const NamedExtent& named : manifest.problem.extents) extents.set(named.name, resolve(manifest, named, given));
  for (const Argument& argument : manifest.arguments) {
    check_shape(manifest, argument.name, argument.dtype, argument.shape, extents);
  }
  for (const Intermediate& buffer : manifest.intermediates) {
    check_shape(manifest, buffer.name, buffer.dtype, buffer.shape, extents);
  }
  return extents;
}

void check_capacity(const Manifest& manifest, const Extents& extents, const Extents& capacity) {
  for (const auto& [name, value] : extents) {
    if (value <= capacity.at(name)) continue;
    throw error_of(manifest, name + " = " + std::to_string(value) + " is over the capacity of " +
                                 std::to_string(capacity.at(name)) + " that the kernel was loaded with");
  }
}

std::vector<ScalarBytes> resolve_scalars(const Manifest& manifest, const Scalars& given) {
  for (const auto& [name, value] : given) {
    if (std::ranges::find(manifest.scalars, name, &Scalar::name) == manifest.scalars.end())
      throw error_of(manifest, "there is no number " + in_quotes(name) + " in this kernel");
  }
  std::vector<ScalarBytes> all;
  all.reserve(manifest.scalars.size());
  for (const auto& [name, type] : manifest.scalars) {
    const auto value = given.find(name);
    if (value == given.end()) {
      throw error_of(manifest, in_quotes(name) + " is a number, " + std::string(to_string(type)) +
                                   ", which every launch must give");
    }
    const auto bytes = to_bytes(value->second, type);
    if (!bytes.has_value()) throw error_of(manifest, in_quotes(name) + ": " + why_not(value->second, type));
    all.push_back(*bytes);
  }
  return all;
}

std::int64_t bytes_of(const Argument& argument, const Extents& extents) {
  std::int64_t bytes = bytes_of(argument.dtype);
  for (const Dimension& dimension : argument.shape) bytes *= length_of(dimension, extents);
  return bytes;
}

OperationLayout layout_of(const Manifest& manifest, const Extents& capacity) {
  OperationLayout layout;
  const auto place_behind = [&](std::int64_t& end, std::int64_t bytes) {
    if (bytes > max_bytes - end) {
      throw error_of(manifest,
                     "flags, workspace and intermediate buffers for this capacity have more than 2^62 bytes; "
                     "lower the capacity");
    }
    const std::int64_t begin = end;
    end += aligned(bytes);
    return begin;
  };
  const auto place = [&](std::int64_t bytes) { return place_behind(layout.total_bytes, bytes); };
  for (const KernelEntry& kernel : manifest.kernels) {
    layout.kernels.push_back({.flags = place(product(kernel.flags, sizeof(device::u64)).value_or(max_bytes)),
                              .launches = place(kernel.blocks * std::int64_t{sizeof(device::LaunchCount)})});
  }
  for (std::size_t kernel = 0; kernel < manifest.kernels.size(); ++kernel) {
    layout.kernels[kernel].workspace_bytes = workspace_bytes(manifest, kernel, capacity);
    layout.kernels[kernel].workspace = place(layout.kernels[kernel].workspace_bytes);
  }
  layout.cleared_bytes = layout.total_bytes;
  for (const Intermediate& buffer : manifest.intermediates) {
    std::int64_t& before = buffer.symmetric ? layout.total_bytes : layout.device_bytes;
    layout.intermediates.push_back(place_behind(before, buffer_bytes(manifest, buffer, capacity)));
  }
  return layout;
}

const Schedule& schedule_for(const Manifest& manifest, const Extents& extents) {
  if (manifest.schedules.size() == 1) return manifest.schedules.front();
  const std::int64_t size = size_of(manifest.problem, extents);
  const auto is_within = [&](const Bound& bound) { return takes(bound, extents.at(bound.extent)); };
  return *std::ranges::find_if(manifest.schedules, [&](const Schedule& each) {
    return size <= each.up_to && std::ranges::all_of(each.bounds, is_within);
  });
}

void check_buffers(const Manifest& manifest, int rank, std::span<const std::int64_t> bytes,
                   std::span<void* const> pointers, const std::function<bool(const void*, std::size_t)>& is_allocated) {
  if (pointers.size() != manifest.arguments.size()) {
    throw error_of(manifest, "takes " + std::to_string(manifest.arguments.size()) + " buffers, not " +
                                 std::to_string(pointers.size()));
  }
  const LaunchBuffers buffers{manifest, rank, bytes, pointers};
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer buffer = buffers[i];
    const Argument& argument = buffer.argument;
    if (buffer.bytes == 0) continue;
    if (buffer.begin == 0) {
      throw error_of(manifest,
                     in_quotes(argument.name) + " is null but has " + std::to_string(buffer.bytes) + " bytes");
    }
    if (!is_own_block(buffers, buffer)) check_alignment(manifest, buffer);
    if (argument.symmetric && !is_allocated(pointers[i], static_cast<std::size_t>(buffer.bytes))) {
      throw error_of(manifest, in_quotes(argument.name) + " (" + std::to_string(buffer.bytes) +
                                   " bytes) does not lie within an allocation on the symmetric heap, nor in adopted "
                                   "memory; take it from Context::allocate, or have Context::as_symmetric adopt it");
    }
  }
  check_aliasing(buffers);
}

}  // namespace iris
