#include <iris/device/types.hpp>

using namespace iris::device;

template <typename Config>
void count(const double* const* values, double* const* counts, i64 n) {
  constexpr i32 own_bins = Config::bins / Config::world;
  for (i32 rank = 0; rank < Config::world; ++rank) {
    for (i64 i = 0; i < n; ++i) {
      double bin = __builtin_floor(values[rank][i] * Config::bins_per_unit) + Config::bins / 2;
      bin = bin < 0 ? 0 : bin > Config::bins - 1 ? Config::bins - 1 : bin;
      const auto place = static_cast<i32>(bin);
      counts[place / own_bins][place % own_bins] += 1;
    }
  }
}
