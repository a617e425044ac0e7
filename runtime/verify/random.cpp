#include "runtime/verify/random.hpp"

#include "iris/values.hpp"

namespace iris {

namespace {

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64 bits that mixes well.
std::uint64_t mix(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

}  // namespace

std::uint64_t random_bits(const RandomStream& stream, std::uint64_t index) {
  std::uint64_t key = mix(stream.seed + golden);
  for (const int part : {stream.rank, stream.argument, stream.launch}) {
    key = mix(key ^ (static_cast<std::uint64_t>(static_cast<std::uint32_t>(part)) + golden));
  }
  return mix(key + index * golden);
}

double random_value(const RandomStream& stream, std::uint64_t index, Dtype dtype, Op op) {
  const std::uint64_t bits = random_bits(stream, index);
  if (dtype == Dtype::i32) return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits >> 32));
  const double fraction = static_cast<double>(bits >> 11) * 0x1p-53;  // [0, 1)
  const double sign = (bits & 1) != 0 ? -1.0 : 1.0;
  return round_to(op == Op::prod ? sign * (0.75 + 0.5 * fraction) : 2 * fraction - 1, dtype);
}

std::vector<double> random_values(const RandomStream& stream, std::size_t count, Dtype dtype, Op op) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = random_value(stream, i, dtype, op);
  return values;
}

}  // namespace iris
