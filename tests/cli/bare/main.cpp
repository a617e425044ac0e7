// Launches the operations of kernels.yaml by their bare headers, on the CPU (hip/hip_runtime.h here). Ends with 0 if
// every element is what it must be.

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "bent.w3.host.bare.hpp"
#include "gathered.w3.host.bare.hpp"
#include "layer.w3.host.bare.hpp"
#include "lines.w2.host.bare.hpp"
#include "parts.w2.host.bare.hpp"
#include "portions.w3.host.bare.hpp"
#include "rows.w3.host.bare.hpp"
#include "total.w3.host.bare.hpp"
// After the kernels, which declare what it is made of.
#include "engine.hpp"

namespace {

using namespace irisgen_kernels;
using std::int64_t;

int failures = 0;

void expect(bool holds, const char* what, int64_t where = 0) {
  if (holds) return;
  if (++failures < 20) std::printf("%s: wrong at %lld\n", what, static_cast<long long>(where));
}

/// Of element i of a rank's buffer in a launch: small integers, all sums of which f32 holds.
float value(int rank, int launch, int64_t i) {
  return static_cast<float>((i * 7 + rank * 31 + launch * 13) % 64 - 20);
}

/// Ranks of one process: symmetric memory with 0xaa in all that need not be zero, streams and an event each. A rank's
/// launcher is made from what is beside it.
template <typename Launcher>
class Ranks {
 public:
  static constexpr int world = Launcher::world;

  template <typename... Capacity>
  Ranks(std::size_t buffer_bytes, Capacity... capacity) {
    const std::size_t own = Launcher::memory_bytes(capacity...);
    const std::size_t zeroed = Launcher::zeroed_bytes(capacity...);
    for (Rank& rank : ranks_) {
      const std::size_t bytes = offset + own + buffer_bytes;
      rank.base = static_cast<char*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
      std::memset(rank.base, 0xaa, bytes);
      std::memset(rank.base + offset, 0, zeroed);
      rank.buffers = rank.base + offset + own;
    }
    for (int i = 0; i < world; ++i) {
      typename Launcher::Rank mine{};
      mine.rank = i;
      for (int peer = 0; peer < world; ++peer) mine.bases[peer] = ranks_[peer].base;
      mine.memory = ranks_[i].base + offset;
      mine.fault = &ranks_[i].fault;
      if constexpr (requires { mine.streams; }) {
        constexpr std::size_t count = std::extent_v<decltype(mine.streams)>;
        static_assert(count <= most_streams);
        for (std::size_t other = 0; other < count; ++other) mine.streams[other] = &ranks_[i].others[other];
      }
      if constexpr (requires { mine.event; }) mine.event = &ranks_[i].event;
      launchers_.emplace_back(mine, capacity...);
    }
  }
  ~Ranks() {
    for (Rank& rank : ranks_) std::free(rank.base);
  }

  /// Element 0 of a rank's buffers, which lie behind the launcher's own memory.
  float* buffers(int rank) { return reinterpret_cast<float*>(ranks_[rank].buffers); }
  const Launcher& launcher(int rank) { return launchers_[static_cast<std::size_t>(rank)]; }

  /// Each rank's launch by a thread of its own.
  template <typename Launch>
  void launch(const Launch& of_rank) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world; ++rank)
      threads.emplace_back([&, rank] {
        fake_last_error = hipErrorInvalidValue;  // of another call, before
        expect(of_rank(rank, &ranks_[rank].stream) == hipSuccess, "launch");
        fake_synchronize(&ranks_[rank].stream);
        expect(launcher(rank).fault().empty(), "fault");
      });
  }

  hipStream_t stream(int rank) { return &ranks_[rank].stream; }
  iris::device::Fault& fault(int rank) { return ranks_[rank].fault; }

 private:
  static constexpr std::size_t offset = 512;
  static constexpr std::size_t most_streams = 2;
  struct Rank {
    char* base = nullptr;
    char* buffers = nullptr;
    iris::device::Fault fault{};
    FakeStream stream;
    FakeStream others[most_streams];
    FakeEvent event;
  };
  Rank ranks_[world];
  std::vector<Launcher> launchers_;
};

constexpr int launches = 3;

void total() {
  constexpr int64_t n = 37;
  Ranks<TotalW3> ranks(128 * sizeof(float));
  for (int launch = 0; launch < launches; ++launch) {
    for (int rank = 0; rank < 3; ++rank)
      for (int64_t i = 0; i < n; ++i) ranks.buffers(rank)[i] = value(rank, launch, i);
    ranks.launch([&](int rank, hipStream_t stream) {
      return ranks.launcher(rank).launch(ranks.buffers(rank), ranks.buffers(rank) + 64, stream);
    });
    for (int rank = 0; rank < 3; ++rank)
      for (int64_t i = 0; i < n; ++i)
        expect(ranks.buffers(rank)[64 + i] == value(0, launch, i) + value(1, launch, i) + value(2, launch, i), "total",
               i);
  }
}

void lines() {
  constexpr int64_t capacity = 50;
  Ranks<LinesW2> ranks(128 * sizeof(float), capacity);
  for (int launch = 0; launch < launches; ++launch) {
    const int64_t n = capacity - 11 * launch;
    for (int rank = 0; rank < 2; ++rank)
      for (int64_t i = 0; i < n; ++i) ranks.buffers(rank)[i] = value(rank, launch, i);
    ranks.launch([&](int rank, hipStream_t stream) {
      return ranks.launcher(rank).launch(ranks.buffers(rank), ranks.buffers(rank) + 64, n, stream);
    });
    for (int rank = 0; rank < 2; ++rank)
      for (int64_t i = 0; i < n; ++i)
        expect(ranks.buffers(rank)[64 + i] == value(0, launch, i) + value(1, launch, i), "lines", i);
  }
  expect(ranks.launcher(0).launch(nullptr, nullptr, capacity + 1, nullptr) == hipErrorInvalidValue, "capacity");
  expect(ranks.launcher(0).launch(nullptr, nullptr, -1, nullptr) == hipErrorInvalidValue, "negative extent");
}

void rows() {
  constexpr int64_t count = 5 * 7;
  Ranks<RowsW3> ranks((64 + 3 * count) * sizeof(float));
  for (int launch = 0; launch < launches; ++launch) {
    for (int rank = 0; rank < 3; ++rank)
      for (int64_t i = 0; i < count; ++i) ranks.buffers(rank)[i] = value(rank, launch, i);
    ranks.launch([&](int rank, hipStream_t stream) {
      return ranks.launcher(rank).launch(ranks.buffers(rank), ranks.buffers(rank) + 64, stream);
    });
    for (int rank = 0; rank < 3; ++rank)
      for (int64_t i = 0; i < 3 * count; ++i)
        expect(ranks.buffers(rank)[64 + i] == value(static_cast<int>(i / count), launch, i % count), "rows", i);
  }
}

/// As square.hip says.
float square(float x) {
  return x * x + 1;
}
float as_it_is(float x) {
  return x;
}

/// Of A (m,k) by ranks of so many rows each, after a prologue, and a rank's B (k,n).
float product(int64_t row, int64_t column, int64_t rows_of_rank, int rank_of_b, int launch,
              float prologue(float) = as_it_is) {
  float sum = 0;
  for (int64_t i = 0; i < 6; ++i) {
    const auto source = static_cast<int>(row / rows_of_rank);
    sum += prologue(value(source, launch, row % rows_of_rank * 6 + i)) * value(rank_of_b, launch + 1, i * 5 + column);
  }
  return sum;
}

template <typename Launcher>
void layer(const char* name, float prologue(float)) {
  constexpr int64_t capacity = 27;
  Ranks<Launcher> ranks(0, capacity);
  for (int launch = 0; launch < launches; ++launch) {
    const int64_t m = capacity - 3 * launch;
    std::vector<float> a[3], b[3], output[3];
    for (int rank = 0; rank < 3; ++rank) {
      for (int64_t i = 0; i < m / 3 * 6; ++i) a[rank].push_back(value(rank, launch, i));
      for (int64_t i = 0; i < 6 * 5; ++i) b[rank].push_back(value(rank, launch + 1, i));
      output[rank].assign(static_cast<std::size_t>(m * 5), -1e9f);
    }
    ranks.launch([&](int rank, hipStream_t stream) {
      return ranks.launcher(rank).launch(a[rank].data(), b[rank].data(), output[rank].data(), m, stream);
    });
    for (int rank = 0; rank < 3; ++rank)
      for (int64_t i = 0; i < m * 5; ++i)
        expect(output[rank][static_cast<std::size_t>(i)] == product(i / 5, i % 5, m / 3, rank, launch, prologue), name,
               i);
  }
  expect(ranks.launcher(0).launch(nullptr, nullptr, nullptr, 4, nullptr) == hipErrorInvalidValue, "divisible extent");
}

/// All ranks' rows, each rank's times its own B.
void gathered() {
  constexpr int64_t most_rows = 33;
  Ranks<GatheredW3> ranks(most_rows * 5 * sizeof(float));
  for (int launch = 0; launch < launches; ++launch) {
    const int64_t m = most_rows - 3 * launch;
    std::vector<float> a[3], b[3];
    for (int rank = 0; rank < 3; ++rank) {
      for (int64_t i = 0; i < m / 3 * 6; ++i) a[rank].push_back(value(rank, launch, i));
      for (int64_t i = 0; i < 6 * 5; ++i) b[rank].push_back(value(rank, launch + 1, i));
    }
    ranks.launch([&](int rank, hipStream_t stream) {
      return ranks.launcher(rank).launch(a[rank].data(), b[rank].data(), ranks.buffers(rank), m, stream);
    });
    for (int rank = 0; rank < 3; ++rank)
      for (int64_t i = 0; i < m * 5; ++i) {
        const auto source = static_cast<int>(i / 5 / (m / 3));
        expect(ranks.buffers(rank)[i] == product(i / 5, i % 5, m / 3, source, launch), "gathered", i);
      }
  }
}

/// A rank's rows of the sum of all products.
template <typename Launcher>
void parts(const char* name, int64_t rows) {
  constexpr int world = Launcher::world;
  Ranks<Launcher> ranks(0, rows * world);
  for (int launch = 0; launch < launches; ++launch) {
    const int64_t m = (rows - launch) * world;
    std::vector<float> a[world], b[world], output[world];
    for (int rank = 0; rank < world; ++rank) {
      for (int64_t i = 0; i < m * 6; ++i) a[rank].push_back(value(rank, launch, i));
      for (int64_t i = 0; i < 6 * 5; ++i) b[rank].push_back(value(rank, launch + 1, i));
      output[rank].assign(static_cast<std::size_t>(m / world * 5), -1e9f);
    }
    ranks.launch([&](int rank, hipStream_t stream) {
      return ranks.launcher(rank).launch(a[rank].data(), b[rank].data(), output[rank].data(), m, stream);
    });
    for (int rank = 0; rank < world; ++rank) {
      for (int64_t i = 0; i < m / world * 5; ++i) {
        const int64_t row = rank * (m / world) + i / 5;
        float sum = 0;
        // Rank r's rows of A are r · m to (r + 1) · m - 1 of all.
        for (int of = 0; of < world; ++of) sum += product(of * m + row, i % 5, m, of, launch);
        expect(output[rank][static_cast<std::size_t>(i)] == sum, name, i);
      }
    }
  }
}

void residency() {
  bool fit = false;
  expect(TotalW3::fits(&fit) == hipSuccess && fit, "fits");
  fake_units = 1;
  expect(TotalW3::fits(&fit) == hipSuccess && !fit, "two blocks on a device of one");
  fake_units = 4;
  expect(TotalW3::fits(&fit, 3) == hipSuccess && !fit, "three ranks on a device of four");
}

/// Kernels that do not wait are loaded, too, before others run.
void loading() {
  fake_loaded.clear();
  bool fit = false;
  expect(PartsW2::fits(&fit) == hipSuccess && fake_loaded.size() == 2, "a product and a collective are loaded");
}

/// A rank whose peers never come says for whom it has waited.
void fault() {
  fake_timeout = std::chrono::milliseconds(50);
  Ranks<TotalW3> ranks(128 * sizeof(float));
  expect(ranks.launcher(1).launch(ranks.buffers(1), ranks.buffers(1) + 64, ranks.stream(1)) == hipSuccess, "launch");
  fake_synchronize(ranks.stream(1));
  const std::string text = ranks.launcher(1).fault();
  const bool is_told = text.starts_with("rank 1, block ") && text.find(" waited for rank ") != std::string::npos &&
                       text.ends_with("to enter the collective; expected step 0 of launch 1, saw no launch");
  expect(is_told, text.c_str());
}

/// As a kernel tells it.
void overlap() {
  Ranks<TotalW3> ranks(128 * sizeof(float));
  ranks.fault(1).overlapped = 1;
  expect(ranks.launcher(1).fault() == "rank 1: two launches of this object overlapped", "overlap");
  expect(ranks.launcher(0).fault().empty(), "no overlap");
}

}  // namespace

int main() {
  iris_host_engine = &fake_engine;
  total();
  lines();
  rows();
  layer<LayerW3>("layer", as_it_is);
  layer<BentW3>("bent", square);
  gathered();
  parts<PartsW2>("parts", 5);
  parts<PortionsW3>("portions", 11);
  residency();
  loading();
  fault();
  overlap();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
