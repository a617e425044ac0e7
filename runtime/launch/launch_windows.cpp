#include "runtime/launch/launch_windows.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace iris {

LaunchWindows::LaunchWindows(const Manifest& manifest, const AdoptedMemory& adopted,
                             std::span<const std::int64_t> bytes, std::span<void* const> pointers) {
  if (adopted.empty()) return;
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    if (!manifest.arguments[i].symmetric || bytes[i] == 0) continue;
    const Adoption* adoption = adopted.find(pointers[i], static_cast<std::size_t>(bytes[i]));
    if (adoption != nullptr) add(*adoption, manifest);
  }
}

void LaunchWindows::add(const Adoption& adoption, const Manifest& manifest) {
  const auto known = std::span(adoptions_).first(count_);
  if (std::ranges::find(known, &adoption) != known.end()) return;
  if (count_ == adoptions_.size()) {
    throw std::runtime_error(manifest.name + ": the symmetric buffers of one launch may lie in " +
                             std::to_string(device::max_windows) +
                             " ranges of adopted memory, these lie in more; adopt what several of them lie in as one "
                             "range, or take some from Context::allocate");
  }
  adoptions_[count_++] = &adoption;
}

void LaunchWindows::write_to(device::Context& context, std::span<const int> ranks) const {
  context.windows = static_cast<device::i32>(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    const Adoption& adoption = *adoptions_[i];
    const auto base_of = [&](int rank) { return adoption.bases[static_cast<std::size_t>(rank)]; };
    std::ranges::transform(ranks, context.bases[i + 1], base_of);  // behind the heap
    context.bytes[i + 1] = adoption.bytes;
  }
}

}  // namespace iris
