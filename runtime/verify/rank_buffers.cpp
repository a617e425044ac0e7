#include "runtime/verify/rank_buffers.hpp"

#include <algorithm>

#include "runtime/launch/launch_check.hpp"
#include "runtime/world/heap.hpp"

namespace iris {

namespace {

constexpr std::size_t guard_bytes = Heap::alignment;

}  // namespace

RankBuffers::RankBuffers(Context& context, const Manifest& manifest, const Extents& extents, bool in_place)
    : rank_(context.rank()) {
  const auto longest = std::ranges::max_element(manifest.arguments, {},
                                                [&](const Argument& argument) { return bytes_of(argument, extents); });
  const auto allocate = [&](std::size_t bytes) {
    return static_cast<char*>(context.allocate(bytes + 2 * guard_bytes)) + guard_bytes;
  };
  char* const shared = in_place ? allocate(static_cast<std::size_t>(bytes_of(*longest, extents))) : nullptr;
  for (const Argument& argument : manifest.arguments) {
    const auto bytes = static_cast<std::size_t>(bytes_of(argument, extents));
    const bool lies_in_another = in_place && &argument != &*longest;
    const bool is_block = lies_in_another && manifest.in_place == InPlace::own_block;
    char* const begin =
        in_place ? shared + (is_block ? static_cast<std::size_t>(context.rank()) * bytes : 0) : allocate(bytes);
    buffers_.push_back({begin, bytes, lies_in_another});
  }
}

std::size_t RankBuffers::heap_bytes(const Manifest& manifest, const Extents& extents) {
  std::size_t total = 0;
  for (const Argument& argument : manifest.arguments) {
    total += static_cast<std::size_t>(bytes_of(argument, extents)) + 2 * guard_bytes + Heap::alignment;
  }
  return total;
}

std::vector<void*> RankBuffers::pointers() const {
  std::vector<void*> pointers;
  pointers.reserve(buffers_.size());
  for (const Buffer& buffer : buffers_) pointers.push_back(buffer.begin);
  return pointers;
}

void RankBuffers::write(Device& device, std::size_t argument, std::span<const std::byte> content) const {
  device.copy(buffers_[argument].begin, content.data(), content.size());
}

std::vector<std::byte> RankBuffers::read(Device& device, std::size_t argument) const {
  std::vector<std::byte> content(buffers_[argument].bytes);
  device.copy(content.data(), buffers_[argument].begin, content.size());
  return content;
}

/// Guards of two buffers, of a rank or of several, differ: who copies beyond the ends of both is found, too.
unsigned char RankBuffers::guard_of(std::size_t argument) const {
  return static_cast<unsigned char>(0xc3 + 16 * argument + static_cast<std::size_t>(rank_));
}

void RankBuffers::poison(Device& device, std::size_t argument, unsigned char value) const {
  const Buffer& buffer = buffers_[argument];
  if (buffer.lies_in_another) return;
  device.fill(buffer.begin - guard_bytes, guard_of(argument), buffer.bytes + 2 * guard_bytes);
  device.fill(buffer.begin, value, buffer.bytes);
}

bool RankBuffers::guards_intact(Device& device, std::size_t argument) const {
  const Buffer& buffer = buffers_[argument];
  if (buffer.lies_in_another) return true;
  std::vector<unsigned char> guards(2 * guard_bytes);
  device.copy(guards.data(), buffer.begin - guard_bytes, guard_bytes);
  device.copy(guards.data() + guard_bytes, buffer.begin + buffer.bytes, guard_bytes);
  return std::ranges::all_of(guards, [&](unsigned char byte) { return byte == guard_of(argument); });
}

}  // namespace iris
