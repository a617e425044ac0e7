#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "iris/operation.hpp"
#include "iris/run.hpp"
#include "iris/world.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/verify/random.hpp"
#include "samples.hpp"

/// Kernels of the language on memory that somebody else has allocated: they make the same bits there as on the heap,
/// where they have been found right.
namespace iris::test {

/// A kernel, inputs of every rank, and the outputs that have been found right with them.
struct VerifiedKernel {
  BuiltOperation built;
  Extents extents;  ///< every one
  std::map<std::string, BuffersOfRanks> inputs = {};
  std::map<std::string, BuffersOfRanks> outputs = {};

  std::size_t bytes_of(const Argument& argument) const {
    return static_cast<std::size_t>(iris::bytes_of(argument, extents));
  }
  Extents dynamic_extents() const {
    Extents given;
    for (const std::string& name : built.manifest.problem.dynamic_extents()) given.set(name, extents.at(name));
    return given;
  }
};

inline VerifiedKernel verified(BuiltOperation built, const Extents& extents) {
  VerifiedKernel kernel{.built = std::move(built), .extents = extents};
  const Problem& problem = kernel.built.manifest.problem;
  int position = 0;
  for (const Argument& argument : kernel.built.manifest.arguments) {
    RandomStream stream{.seed = 5, .rank = 0, .argument = position++, .launch = 0};
    if (argument.access == Access::write) continue;
    const std::size_t count = kernel.bytes_of(argument) / static_cast<std::size_t>(bytes_of(argument.dtype));
    for (; stream.rank < problem.world; ++stream.rank) {
      kernel.inputs[argument.name].push_back(
          to_bytes(random_values(stream, count, argument.dtype, problem.op.value_or(Op::sum)), argument.dtype));
    }
  }
  RunOptions options;
  options.extents = kernel.dynamic_extents();
  options.inputs = kernel.inputs;
  const RunReport report = run_operation(kernel.built, options);
  EXPECT_TRUE(report.verified && report.passed);
  for (const RunOutput& output : report.outputs) kernel.outputs[output.name] = output.content;
  return kernel;
}

/// Where the buffers of a launch lie.
enum class Lie { apart, together, inputs_on_heap, outputs_on_heap };
inline constexpr Lie every_lie[] = {Lie::apart, Lie::together, Lie::inputs_on_heap, Lie::outputs_on_heap};

/// Memory of a rank's own: so many bytes, aligned to 256, until the world ends.
using AllocateElsewhere = std::function<char*(Context&, std::size_t bytes)>;

/// The buffers of one launch on one rank. Adopts what is not on the heap.
class AdoptedBuffers {
 public:
  AdoptedBuffers(Context& context, const VerifiedKernel& kernel, Lie lie, const AllocateElsewhere& allocate)
      : context_(context) {
    constexpr std::size_t gap = 256;
    std::size_t total = gap;
    for (const Argument& argument : kernel.built.manifest.arguments) total += round_up(kernel.bytes_of(argument)) + gap;
    char* all = lie == Lie::together ? adopt(allocate(context, total), total) : nullptr;
    std::size_t number = 0;
    for (const Argument& argument : kernel.built.manifest.arguments) {
      const std::size_t bytes = round_up(kernel.bytes_of(argument));
      const bool on_heap = lie == (argument.access == Access::read ? Lie::inputs_on_heap : Lie::outputs_on_heap);
      ++number;
      if (all != nullptr) {
        pointers_.push_back(all += gap);
        all += bytes;
      } else if (on_heap) {
        heap_.push_back(context.allocate(bytes));
        pointers_.push_back(heap_.back());
      } else {
        pointers_.push_back(adopt(allocate(context, bytes + number * gap), bytes + number * gap) + number * gap);
      }
    }
  }
  const std::vector<void*>& pointers() const { return pointers_; }

  /// Collective.
  void release() {
    for (char* begin : adopted_) context_.release_symmetric(begin);
    for (void* memory : heap_) context_.free(memory);
  }

 private:
  static std::size_t round_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
  char* adopt(char* memory, std::size_t bytes) {
    context_.as_symmetric(memory, bytes);
    adopted_.push_back(memory);
    return memory;
  }

  Context& context_;
  std::vector<void*> pointers_;
  std::vector<char*> adopted_;
  std::vector<void*> heap_;
};

/// Bytes that differ from what has been found right, after several launches.
inline std::size_t differing_bytes(Context& context, const VerifiedKernel& kernel, Lie lie,
                                   const AllocateElsewhere& allocate) {
  AdoptedBuffers buffers(context, kernel, lie, allocate);
  const std::vector<Argument>& arguments = kernel.built.manifest.arguments;
  const auto rank = static_cast<std::size_t>(context.rank());
  Operation operation(context, kernel.built, kernel.dynamic_extents());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto input = kernel.inputs.find(arguments[i].name);
    if (arguments[i].access == Access::write) {
      context.device().fill(buffers.pointers()[i], 0xa5, kernel.bytes_of(arguments[i]));
    } else {
      context.device().copy(buffers.pointers()[i], input->second[rank].data(), input->second[rank].size());
    }
  }
  context.barrier();
  for (int launch = 0; launch < 3; ++launch) operation.launch(buffers.pointers(), kernel.dynamic_extents());
  context.barrier();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto output = kernel.outputs.find(arguments[i].name);
    if (output == kernel.outputs.end()) continue;
    std::vector<std::byte> actual(kernel.bytes_of(arguments[i]));
    context.device().copy(actual.data(), buffers.pointers()[i], actual.size());
    for (std::size_t at = 0; at < actual.size(); ++at) wrong += actual[at] != output->second[rank][at] ? 1 : 0;
  }
  buffers.release();
  return wrong;
}

/// As it has to be for the bits of every launch to be the same, small, of sizes that nothing divides.
inline Sample sample_for_bits(const Algorithm& algorithm, int world) {
  const Extents extents = is_matmul(algorithm) ? matmul_extents(algorithm, world, 37, 29, 19)
                                               : collective_extents(algorithm, world, 3, 501);
  return {.algorithm = algorithm,
          .world = world,
          .dtype = row_of(algorithm)->deterministic ? "f32" : "i32",
          .extents = extents,
          .config = small_grid(algorithm, 32)};
}

}  // namespace iris::test
