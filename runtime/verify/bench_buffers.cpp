#include "runtime/verify/bench_buffers.hpp"

#include <algorithm>
#include <cstddef>

#include "iris/values.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/verify/batch.hpp"
#include "runtime/verify/random.hpp"
#include "runtime/world/heap.hpp"

namespace iris {
namespace {

/// The same run of elements over and over.
std::vector<std::byte> random_bytes(std::size_t bytes, Dtype dtype, Op op, RandomStream stream) {
  constexpr std::size_t run = 1 << 16;
  const std::size_t elements = bytes / static_cast<std::size_t>(bytes_of(dtype));
  const std::vector<double> values = random_values(stream, std::min(elements, run), dtype, op);
  const std::vector<std::byte> pattern = to_bytes(values, dtype);
  std::vector<std::byte> data(bytes);
  for (std::size_t at = 0; at < bytes; at += pattern.size())
    std::copy_n(pattern.begin(), std::min(pattern.size(), bytes - at), data.begin() + static_cast<std::ptrdiff_t>(at));
  return data;
}

}  // namespace

BenchBuffers::BenchBuffers(Context& context, const irisgen::Plan& plan, const Extents& extents, std::uint64_t seed)
    : context_(context) {
  int position = 0;
  for (const Argument& argument : plan.arguments) {
    bytes_.push_back(static_cast<std::size_t>(bytes_of(argument, extents)));
    pointers_.push_back(context.allocate(bytes_.back()));
    const RandomStream stream{.seed = seed, .rank = context.rank(), .argument = position++, .launch = 0};
    const auto data = random_bytes(bytes_.back(), argument.dtype, plan.problem.op.value_or(Op::sum), stream);
    context.device().copy(pointers_.back(), data.data(), data.size());
  }
}

BenchBuffers::~BenchBuffers() {
  for (void* pointer : pointers_) context_.free(pointer);
}

std::size_t BufferTurns::heap_bytes() const {
  return static_cast<std::size_t>(sets) * bytes + 2 * flush_bytes;
}

BufferTurns buffer_turns(const irisgen::Plan& plan, const Extents& extents, bool cold, int launches) {
  BufferTurns turns;
  for (const Argument& argument : plan.arguments)
    turns.bytes += static_cast<std::size_t>(bytes_of(argument, extents)) + Heap::alignment;
  if (!cold) return turns;
  const auto cache = static_cast<std::size_t>(plan.target->cache_bytes);
  const std::size_t enough = 1 + (2 * cache + turns.bytes - 1) / std::max<std::size_t>(1, turns.bytes);
  const auto in_batch = static_cast<std::size_t>(launches);
  if (enough > in_batch) turns.flush_bytes = cache;
  turns.sets = static_cast<int>(std::min(enough, in_batch)) + 1;  // and the one before the batch
  return turns;
}

BenchBufferSets::BenchBufferSets(Context& context, const irisgen::Plan& plan, const Extents& extents,
                                 const BufferTurns& turns, std::uint64_t seed)
    : context_(context), flush_bytes_(turns.flush_bytes) {
  for (int set = 0; set < turns.sets; ++set)
    sets_.push_back(std::make_unique<BenchBuffers>(context, plan, extents, seed));
  if (flush_bytes_ > 0) flushed_ = context.allocate(2 * flush_bytes_);
}

BenchBufferSets::~BenchBufferSets() {
  if (flushed_ != nullptr) context_.free(flushed_);
}

std::span<void* const> BenchBufferSets::of_launch(int number) const {
  if (number != before_batch) {
    const std::size_t in_turn = std::max<std::size_t>(1, sets_.size() - 1);
    return sets_[static_cast<std::size_t>(number) % in_turn]->pointers();
  }
  if (flushed_ != nullptr)
    context_.device().enqueue_copy(flushed_, static_cast<std::byte*>(flushed_) + flush_bytes_, flush_bytes_, nullptr);
  return sets_.back()->pointers();
}

}  // namespace iris
