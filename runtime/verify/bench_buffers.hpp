#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "iris/world.hpp"
#include "irisgen/plan.hpp"

namespace iris {

/// One rank's buffers of a plan of static shape, on the symmetric heap, with random data in each: what matters to the
/// time is that they are no zeros. Made and ended by all ranks together.
class BenchBuffers {
 public:
  BenchBuffers(Context& context, const irisgen::Plan& plan, std::uint64_t seed);
  ~BenchBuffers();
  BenchBuffers(const BenchBuffers&) = delete;
  BenchBuffers& operator=(const BenchBuffers&) = delete;

  /// In the order of the plan's arguments, and how long each is.
  std::span<void* const> pointers() const { return pointers_; }
  std::span<const std::size_t> bytes() const { return bytes_; }

 private:
  Context& context_;
  std::vector<void*> pointers_;
  std::vector<std::size_t> bytes_;
};

}  // namespace iris
