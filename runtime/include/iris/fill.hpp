#pragma once

#include <cstdint>

#include "iris/dtype.hpp"
#include "iris/group.hpp"
#include "iris/tensor.hpp"
#include "iris/tensor_view.hpp"

/// Tensors with values, which kernels make where the tensors lie; each is compiled when it is first asked for and kept
/// in the cache. All of them are functions of an element's index, and have the same bits on the CPU and on every GPU,
/// but for a NaN's sign and payload.
///
/// What makes a tensor is collective, as empty() is, and done when it returns; where one rank cannot, every one throws
/// alike. What fills one is local: it is ordered in the stream, and the caller waits for it by Group::synchronize(),
/// before it destroys the stream as well. It takes tensors without gaps that this rank's device addresses, adopted ones
/// and those of DLPack as well. The first of a kind and dtype may wait for the whole device, as loading an operation
/// does, and throws in a stream that is captured; later ones can be captured.
///
/// All throw std::invalid_argument, in words, for what is stated below, before any rank waits for another, and else
/// what empty() and jit() do.
namespace iris {

/// Which random numbers: element i is number i of this sequence, whatever the tensor's shape. Ranks that are to have
/// different ones give different sequences of one seed, as different tensors do; alike, both give the same.
struct Seed {
  std::uint64_t seed = 0;
  std::int64_t sequence = 0;  ///< the rank's number, say
};

/// One value, rounded to nearest even. A finite one must not be larger than the dtype's largest number; i32 takes
/// integers alone, and e4m3 has no infinity.
Tensor full(Group& group, const Shape& shape, double value, Dtype dtype = Dtype::f32, Stream stream = nullptr);
void fill(Group& group, const TensorView& tensor, double value, Stream stream = nullptr);
Tensor ones(Group& group, const Shape& shape, Dtype dtype = Dtype::f32, Stream stream = nullptr);

/// start, start + step, start + 2·step …: ⌈(end - start) / step⌉ of them, or none if `end` lies the other way. That
/// quotient is rounded as f64 is, so the last of them may reach `end`: 1.3 is in those from 1 to 1.3 by 0.1. In f64, by
/// one multiply-add each, and then rounded; the bounds on values are those of full().
Tensor arange(Group& group, double start, double end, double step = 1, Dtype dtype = Dtype::f32,
              Stream stream = nullptr);
void fill_arange(Group& group, const TensorView& tensor, double start = 0, double step = 1, Stream stream = nullptr);

/// `count` numbers at equal distances from `start` to `end`, both exact; of one number, start. In f64, as arange(). Of
/// floats alone.
Tensor linspace(Group& group, double start, double end, std::int64_t count, Dtype dtype = Dtype::f32,
                Stream stream = nullptr);
void fill_linspace(Group& group, const TensorView& tensor, double start, double end, Stream stream = nullptr);

/// Uniform in [0, 1): multiples of 2^-p, where p is 53 bits for f64, 24 for f32, 11 for f16, 8 for bf16 and 4 for e4m3.
/// Of floats alone. The bits are Philox4x32-10's (Salmon et al.: Parallel random numbers: as easy as 1, 2, 3; SC 2011):
/// the seed is its key; the counter is i/4 (f64, and integers: i/2), and the sequence above that.
Tensor rand(Group& group, const Shape& shape, Dtype dtype = Dtype::f32, const Seed& seed = {}, Stream stream = nullptr);
void fill_rand(Group& group, const TensorView& tensor, const Seed& seed = {}, Stream stream = nullptr);

/// Normal with mean 0 and variance 1, by Box and Muller's transformation: in f64 for f64, else in f32 and then rounded
/// to nearest even. Of floats alone; 6.8 at most (f64: 8.7) before it is rounded.
Tensor randn(Group& group, const Shape& shape, Dtype dtype = Dtype::f32, const Seed& seed = {},
             Stream stream = nullptr);
void fill_randn(Group& group, const TensorView& tensor, const Seed& seed = {}, Stream stream = nullptr);

/// Integers of [low, high), each with the same probability but for 2^-32 of it. There are 1 to 2^32 of them, and the
/// dtype has them all: i32 those of 32 bits, floats those up to 2^p.
Tensor randint(Group& group, const Shape& shape, std::int64_t low, std::int64_t high, Dtype dtype = Dtype::i32,
               const Seed& seed = {}, Stream stream = nullptr);
void fill_randint(Group& group, const TensorView& tensor, std::int64_t low, std::int64_t high, const Seed& seed = {},
                  Stream stream = nullptr);

}  // namespace iris
