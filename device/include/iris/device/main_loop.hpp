#pragma once

#include <iris/device/main_loop/any.hpp>
#include <iris/device/main_loop/tiles.hpp>

/// The seam between a template, which says what is multiplied in which order, when it may be read, where it goes and
/// who is told, and the loop that does it, which Config::MainLoop names.
namespace iris::device {

/// A matrix as the main loop reads it.
template <typename Config>
using Operand = typename Config::MainLoop::template Operand<Config>;

/// What the host has prepared of one matrix for the main loop.
template <typename Config>
using OperandMap = typename Config::MainLoop::Map;

/// The maps of a kernel's operands; `workspace` is of the workspace as a matrix, in both ping-pong buffers.
template <typename Config>
struct OperandMaps {
  OperandMap<Config> a = {};
  OperandMap<Config> b = {};
  OperandMap<Config> workspace = {};
};

/// The matrix that `map` was made of.
template <typename Config>
__device__ __forceinline__ Operand<Config> operand(OperandMap<Config> map,
                                                   const Matrix<const typename Config::Element>& matrix) {
  return Config::MainLoop::template operand<Config>(map, matrix);
}
/// The one in this launch's buffer of the workspace, of which both are in `map`.
template <typename Config>
__device__ __forceinline__ Operand<Config> operand(OperandMap<Config> map, const Launch<Config>& launch,
                                                   const Matrix<const typename Config::Element>& matrix) {
  return Config::MainLoop::template operand<Config>(map, launch, matrix);
}

/// The block multiplies tiles number `first`, `first` + `stride`, … of a TileSequence. False on every thread, with the
/// fault recorded, if one of its waits ran out of time: the kernel returns. Once in a kernel.
template <typename Config, typename Tiles>
__device__ __forceinline__ bool multiply_tiles(const Tiles& tiles, i64 first, i64 stride) {
  return Config::MainLoop::template run<Config>(tiles, first, stride);
}

}  // namespace iris::device
