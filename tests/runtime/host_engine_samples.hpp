#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"

namespace iris::test {

/// The output that a kernel of 2 · 32 threads leaves on each rank, for input[i] = 1000 · rank + i · i.
inline std::vector<std::vector<int>> outputs_of(const std::string& symbol, int world_size, std::int64_t n,
                                                std::uint64_t seed = 0, int launches = 1) {
  World world({.size = world_size, .heap_bytes = 1 << 20, .seed = seed});
  BuiltOperation built = host_operation(symbol, world_size);
  built.manifest.timeout_ms = 24 * 3600 * 1000;
  std::vector<std::vector<int>> outputs(static_cast<std::size_t>(world_size));
  world.run([&](Context& context) {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(int);
    void* input = context.allocate(bytes);
    void* output = context.allocate(bytes);
    std::vector<int> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1000 * context.rank() + static_cast<int>(i * i);
    context.device().copy(input, values.data(), bytes);
    context.device().fill(output, 0xa5, bytes);
    Operation operation(context, built, {{"n", n}});
    const std::array<void*, 2> buffers{input, output};
    for (int launch = 0; launch < launches; ++launch) operation.launch(buffers, {{"n", n}});
    context.synchronize();
    context.device().copy(values.data(), output, bytes);
    outputs[static_cast<std::size_t>(context.rank())] = values;
  });
  return outputs;
}

}  // namespace iris::test
