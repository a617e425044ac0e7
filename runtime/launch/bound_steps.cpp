#include "runtime/launch/bound_steps.hpp"

#include <algorithm>
#include <utility>

namespace iris {

namespace {

/// Binds one step after another.
class Binder {
 public:
  Binder(const Binding& binding, const Extents& extents) : binding_(binding), extents_(extents) {}

  void bind(const Step& step) {
    stream_ = step.stream;
    std::visit([this](const auto& action) { bind(action); }, step.action);
  }
  std::vector<BoundStep> take() { return std::move(steps_); }

 private:
  void bind(const LaunchStep& step);
  void bind(const CopyStep& step);
  void bind(const SignalStep& step);
  void bind(const WaitStep& step) { steps_.push_back({stream_, &step}); }

  BoundLaunch::Map bind(const MatrixMap& map) const;
  int blocks_of(const LaunchStep& step) const;
  int peer_at(int offset) const { return (binding_.rank + offset) % binding_.manifest.problem.world; }
  std::int64_t number_of(BlockIndex block, int peer) const {
    return block == BlockIndex::first ? 0 : block == BlockIndex::rank ? binding_.rank : peer;
  }
  NumberedBuffers::Place flag(const FlagIndex& index, int peer) const {
    const LoadedKernel& kernel = binding_.kernels[static_cast<std::size_t>(index.kernel)];
    return binding_.buffers.place_of(kernel.flag(index.first + number_of(index.of, peer)));
  }

  const Binding& binding_;
  const Extents& extents_;
  int stream_ = 0;
  std::vector<BoundStep> steps_;
};

void Binder::bind(const LaunchStep& step) {
  const LoadedKernel& kernel = binding_.kernels[static_cast<std::size_t>(step.kernel)];
  BoundLaunch launch{.kernel = &kernel,
                     .blocks = blocks_of(step),
                     .extents = {},
                     .maps = {},
                     .arguments = {kernel.context_argument()}};
  for (const std::string& name : step.buffers) {
    void* const& pointer = binding_.buffers.pointer(binding_.buffers.number_of(name));
    launch.arguments.push_back({static_cast<const void*>(&pointer), sizeof pointer});
  }
  for (const Dimension& extent : step.extents) launch.extents.push_back(length_of(extent, extents_));
  for (const MatrixMap& map : step.maps) launch.maps.push_back(bind(map));
  for (const std::int64_t& extent : launch.extents) launch.arguments.push_back({&extent, sizeof extent});
  for (std::size_t i = 0; i < binding_.scalars.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(bytes_of(binding_.manifest.scalars[i].type));
    launch.arguments.push_back({binding_.scalars[i].bytes.data(), bytes});
  }
  for (const BoundLaunch::Map& map : launch.maps) launch.arguments.push_back({&map.map, sizeof map.map});
  steps_.push_back({stream_, std::move(launch)});
}

int Binder::blocks_of(const LaunchStep& step) const {
  const int blocks = binding_.manifest.kernels[static_cast<std::size_t>(step.kernel)].blocks;
  if (!step.tiles) return blocks;
  const std::int64_t rows = length_of(step.tiles->rows, extents_);
  return static_cast<int>(blocks_with_tiles(blocks, *step.tiles, rows, length_of(step.tiles->columns, extents_)));
}

BoundLaunch::Map Binder::bind(const MatrixMap& map) const {
  return {.buffer = binding_.buffers.number_of(map.buffer), .layout = matrix_layout(map, extents_), .map = {}};
}

void Binder::bind(const CopyStep& step) {
  const NumberedBuffers& buffers = binding_.buffers;
  const int peer = peer_at(step.peer_offset);
  const std::size_t from = buffers.number_of(step.from);
  const std::int64_t rows = length_of(step.shape.front(), extents_);
  std::int64_t row_bytes = bytes_of(buffers.dtype_of(from));
  for (const Dimension& dimension : std::span(step.shape).subspan(1)) row_bytes *= length_of(dimension, extents_);
  const auto [first, count] = rows_of(step.portion, rows);
  if (count == 0) return;
  const auto offset = [&](BlockIndex block) { return (number_of(block, peer) * rows + first) * row_bytes; };
  steps_.push_back({stream_, BoundCopy{.from = {from, offset(step.from_block)},
                                       .to = {buffers.number_of(step.to), offset(step.to_block)},
                                       .bytes = count * row_bytes,
                                       .peer = peer}});
}

void Binder::bind(const SignalStep& step) {
  const int peer = peer_at(step.peer_offset);
  steps_.push_back(
      {stream_,
       BoundCopy{
           .from = flag(step.from, peer), .to = flag(step.to, peer), .bytes = sizeof(device::u64), .peer = peer}});
}

}  // namespace

NumberedBuffers::NumberedBuffers(const Manifest& manifest, const OperationLayout& layout, char* memory, char* beside) {
  for (const Argument& argument : manifest.arguments) {
    names_.push_back(argument.name);
    dtypes_.push_back(argument.dtype);
    pointers_.push_back(nullptr);
  }
  for (std::size_t i = 0; i < manifest.intermediates.size(); ++i) {
    names_.push_back(manifest.intermediates[i].name);
    dtypes_.push_back(manifest.intermediates[i].dtype);
    pointers_.push_back((manifest.intermediates[i].symmetric ? memory : beside) + layout.intermediates[i]);
  }
  pointers_.push_back(memory);
}

void NumberedBuffers::set_arguments(std::span<void* const> arguments) {
  std::ranges::copy(arguments, pointers_.begin());
}

std::size_t NumberedBuffers::number_of(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
}

NumberedBuffers::Place NumberedBuffers::place_of(const char* memory) const {
  return {pointers_.size() - 1, memory - static_cast<const char*>(pointers_.back())};
}

MatrixLayout matrix_layout(const MatrixMap& map, const Extents& extents) {
  std::int64_t box_rows = map.box_rows;
  if (map.last_of) box_rows = rows_of_last_box(box_rows, length_of(*map.last_of, extents));
  return {.data = nullptr,
          .element_bytes = bytes_of(map.dtype),
          .rows = length_of(map.rows, extents),
          .columns = length_of(map.columns, extents),
          .box_rows = static_cast<int>(box_rows),
          .box_columns = map.box_columns};
}

std::vector<BoundStep> bind_steps(const Binding& binding, const Extents& extents) {
  Binder binder(binding, extents);
  for (const Step& step : schedule_for(binding.manifest, extents).steps) binder.bind(step);
  return binder.take();
}

}  // namespace iris
