#include "runtime/verify/rank_buffers.hpp"

#include <algorithm>

#include "runtime/launch/launch_check.hpp"
#include "runtime/world/heap.hpp"

namespace iris {

namespace {

constexpr std::size_t guard_bytes = Heap::alignment;
constexpr unsigned char guard_byte = 0xc3;

}  // namespace

RankBuffers::RankBuffers(Context& context, const Manifest& manifest, const Extents& extents) {
  for (const Argument& argument : manifest.arguments) {
    const auto bytes = static_cast<std::size_t>(bytes_of(argument, extents));
    buffers_.push_back({static_cast<char*>(context.allocate(bytes + 2 * guard_bytes)), bytes});
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
  for (const Buffer& buffer : buffers_) pointers.push_back(buffer.base + guard_bytes);
  return pointers;
}

void RankBuffers::write(Device& device, std::size_t argument, std::span<const std::byte> content) const {
  device.copy(buffers_[argument].base + guard_bytes, content.data(), content.size());
}

std::vector<std::byte> RankBuffers::read(Device& device, std::size_t argument) const {
  std::vector<std::byte> content(buffers_[argument].bytes);
  device.copy(content.data(), buffers_[argument].base + guard_bytes, content.size());
  return content;
}

void RankBuffers::poison(Device& device, std::size_t argument, unsigned char value) const {
  const Buffer& buffer = buffers_[argument];
  device.fill(buffer.base, guard_byte, buffer.bytes + 2 * guard_bytes);
  device.fill(buffer.base + guard_bytes, value, buffer.bytes);
}

bool RankBuffers::guards_intact(Device& device, std::size_t argument) const {
  const Buffer& buffer = buffers_[argument];
  std::vector<unsigned char> guards(2 * guard_bytes);
  device.copy(guards.data(), buffer.base, guard_bytes);
  device.copy(guards.data() + guard_bytes, buffer.base + guard_bytes + buffer.bytes, guard_bytes);
  return std::ranges::all_of(guards, [](unsigned char byte) { return byte == guard_byte; });
}

}  // namespace iris
