#pragma once

namespace iris::device {

/// Memory order of an atomic access, as in C++.
enum class Order { relaxed, acquire, release, acq_rel };

/// Who observes an atomic access: the threads of the block, of the GPU, or of every GPU and the CPU.
enum class Scope { block, gpu, sys };

}  // namespace iris::device
