// Launches the operations of bare.yaml on two GPUs by their bare headers, and a captured graph of them; ends with 0 if
// every element is right, and if a rank whose peer does not come says so. One thread launches all ranks in turn, or with
// an argument, `threads`, one for each rank. Names each check before it begins, and ends with the first wait that takes
// too long, since what holds up one launch may hold up each, for a timeout every time.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "layer.w2.sm_90a.bare.hpp"
#include "parts.w2.sm_90a.bare.hpp"
#include "portions.w2.sm_90a.bare.hpp"
#include "rows.w2.sm_90a.bare.hpp"
#include "total.w2.sm_90a.bare.hpp"

namespace {

using namespace irisgen_kernels;
using iris::device::BFloat16;
using std::int64_t;

constexpr int world = 2;
constexpr unsigned most_seconds = 60;
int failures = 0;
bool in_threads = false;

void end_late(int) {
  constexpr char text[] = "not done after 60 s: the check named last hangs\n";
  static_assert(most_seconds == 60);
  const auto written = write(STDOUT_FILENO, text, sizeof text - 1);
  _exit(written > 0 ? 1 : 2);
}

void begin(const char* check) {
  std::printf("%s\n", check);
}

void expect(bool holds, const char* what, int64_t where = 0) {
  if (!holds && ++failures < 20) std::printf("%s: wrong at %lld\n", what, static_cast<long long>(where));
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(error));
  std::_Exit(1);  // waits for no kernel
}

/// Before any launch: what a launch would load might wait for a kernel that waits for a rank not yet launched.
template <typename Launcher>
void load() {
  for (int rank = 0; rank < world; ++rank) {
    bool fits = false;
    check(cudaSetDevice(rank));
    check(Launcher::fits(&fits));
    expect(fits, "fits");
  }
}

/// Of element i of a rank's buffer in a launch: small integers, which bf16 holds.
float value(int rank, int launch, int64_t i) {
  return static_cast<float>((i * 7 + i / 1000 + rank * 3 + launch * 5) % 9 - 4);
}

/// One allocation a rank: the launcher's memory, then the buffers of a test, each of `buffer_bytes`.
template <typename Launcher>
class Ranks {
 public:
  template <typename... Capacity>
  Ranks(std::size_t buffer_bytes, Capacity... capacity) : buffer_bytes_(buffer_bytes) {
    const std::size_t own = Launcher::memory_bytes(capacity...);
    buffers_ = (own + 255) / 256 * 256;
    for (int rank = 0; rank < world; ++rank) {
      check(cudaSetDevice(rank));
      check(cudaMalloc(&bases_[rank], buffers_ + 4 * buffer_bytes));
      check(cudaMemset(bases_[rank], 0xaa, buffers_ + 4 * buffer_bytes));
      check(cudaMemset(bases_[rank], 0, Launcher::zeroed_bytes(capacity...)));
      check(cudaStreamCreate(&streams_[rank]));
      check(cudaDeviceSynchronize());
    }
    for (int rank = 0; rank < world; ++rank) {
      typename Launcher::Rank mine{};
      mine.rank = rank;
      mine.bases[0] = bases_[0];
      mine.bases[1] = bases_[1];
      mine.memory = bases_[rank];
      check(cudaSetDevice(rank));
      check(cudaMallocHost(&mine.fault, sizeof *mine.fault));
      *mine.fault = {};
      if constexpr (requires { mine.streams; }) {
        for (cudaStream_t& other : mine.streams) check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
      }
      if constexpr (requires { mine.event; }) check(cudaEventCreateWithFlags(&mine.event, cudaEventDisableTiming));
      if constexpr (requires { mine.streams; }) {
        for (cudaStream_t other : mine.streams) copy_once(rank, other);
      }
      copy_once(rank, streams_[rank]);
      launchers_.emplace_back(mine, capacity...);
    }
  }

  template <typename T>
  T* buffer(int rank, int number) const {
    return reinterpret_cast<T*>(bases_[rank] + buffers_ + static_cast<std::size_t>(number) * buffer_bytes_);
  }
  const Launcher& launcher(int rank) const { return launchers_[static_cast<std::size_t>(rank)]; }
  cudaStream_t stream(int rank) const { return streams_[rank]; }

  template <typename Launch>
  void launch(const Launch& of_rank) const {
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < world; ++rank) {
        const auto enqueue = [&of_rank, rank] {
          const auto start = std::chrono::steady_clock::now();
          check(cudaSetDevice(rank));
          check(of_rank(rank));
          const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
          if (took.count() > 0.4) std::printf("launching rank %d held its thread for %.1f s\n", rank, took.count());
        };
        in_threads ? static_cast<void>(threads.emplace_back(enqueue)) : enqueue();
      }
    }
    synchronize();
  }
  void synchronize() const {
    for (int rank = 0; rank < world; ++rank) {
      check(cudaStreamSynchronize(streams_[rank]));
      const std::string fault = launcher(rank).fault();
      if (fault.empty()) continue;
      std::printf("%s\n", fault.c_str());
      std::_Exit(1);
    }
  }

 private:
  /// To its own GPU and to the other, before any launch: what the driver sets up for first copies may wait for kernels.
  void copy_once(int rank, cudaStream_t stream) const {
    for (char* const to : bases_)
      check(cudaMemcpyAsync(to + buffers_ + buffer_bytes_, bases_[rank] + buffers_, 256, cudaMemcpyDefault, stream));
    check(cudaStreamSynchronize(stream));
  }

  std::size_t buffer_bytes_;
  std::size_t buffers_ = 0;
  char* bases_[world] = {};
  cudaStream_t streams_[world] = {};
  std::vector<Launcher> launchers_;
};

float from_bits(BFloat16 value) {
  const unsigned bits = static_cast<unsigned>(value.bits) << 16;
  float result = 0;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

void fill(float* to, int64_t count, int rank, int launch) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(value(rank, launch, i));
  check(cudaMemcpy(to, values.data(), values.size() * sizeof(float), cudaMemcpyDefault));
}
void fill(BFloat16* to, int64_t count, int rank, int launch) {
  std::vector<BFloat16> values;
  for (int64_t i = 0; i < count; ++i) {
    const float exact = value(rank, launch, i);
    unsigned bits = 0;
    std::memcpy(&bits, &exact, sizeof bits);
    values.push_back({static_cast<unsigned short>(bits >> 16)});
  }
  check(cudaMemcpy(to, values.data(), values.size() * sizeof(BFloat16), cudaMemcpyDefault));
}
template <typename T>
std::vector<T> read(const T* from, int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  check(cudaMemcpy(values.data(), from, values.size() * sizeof(T), cudaMemcpyDefault));
  return values;
}

void expect_total(const Ranks<TotalW2>& ranks, int64_t n, int launch, const char* what) {
  for (int rank = 0; rank < world; ++rank) {
    const std::vector<float> sums = read(ranks.buffer<float>(rank, 1), n);
    for (int64_t i = 0; i < n; ++i)
      expect(sums[static_cast<std::size_t>(i)] == value(0, launch, i) + value(1, launch, i), what, i);
  }
}

/// Every range of sizes, and a graph that is replayed.
void total() {
  begin("total");
  constexpr int64_t capacity = 3'000'000;
  const Ranks<TotalW2> ranks(capacity * sizeof(float) / 256 * 256 + 256, capacity);
  const auto launch = [&](int rank, int64_t n) {
    return ranks.launcher(rank).launch(ranks.buffer<float>(rank, 0), ranks.buffer<float>(rank, 1), n,
                                       ranks.stream(rank));
  };
  const int64_t sizes[] = {1000, 500'001, capacity, 94'208, 7};
  for (int i = 0; i < 5; ++i) {
    for (int rank = 0; rank < world; ++rank) fill(ranks.buffer<float>(rank, 0), sizes[i], rank, i);
    ranks.launch([&](int rank) { return launch(rank, sizes[i]); });
    expect_total(ranks, sizes[i], i, "total");
  }
  begin("graph of total");
  cudaGraphExec_t graphs[world];
  for (int rank = 0; rank < world; ++rank) {
    cudaGraph_t graph{};
    check(cudaSetDevice(rank));
    check(cudaStreamBeginCapture(ranks.stream(rank), cudaStreamCaptureModeThreadLocal));
    check(launch(rank, 1000));
    check(launch(rank, 500'001));
    check(cudaStreamEndCapture(ranks.stream(rank), &graph));
    check(cudaGraphInstantiate(&graphs[rank], graph, 0));
    check(cudaGraphUpload(graphs[rank], ranks.stream(rank)));
  }
  ranks.synchronize();
  for (int replay = 0; replay < 10; ++replay) {
    for (int rank = 0; rank < world; ++rank) fill(ranks.buffer<float>(rank, 0), 500'001, rank, replay);
    ranks.launch([&](int rank) { return cudaGraphLaunch(graphs[rank], ranks.stream(rank)); });
    expect_total(ranks, 500'001, replay, "graph of total");
  }
}

void rows() {
  begin("rows");
  constexpr int64_t count = 300 * 1000;
  const Ranks<RowsW2> ranks(2 * count * sizeof(float) / 256 * 256 + 256);
  for (int launch = 0; launch < 20; ++launch) {
    for (int rank = 0; rank < world; ++rank) fill(ranks.buffer<float>(rank, 0), count, rank, launch);
    ranks.launch([&](int rank) {
      return ranks.launcher(rank).launch(ranks.buffer<float>(rank, 0), ranks.buffer<float>(rank, 1),
                                         ranks.stream(rank));
    });
    for (int rank = 0; rank < world; ++rank) {
      const std::vector<float> gathered = read(ranks.buffer<float>(rank, 1), 2 * count);
      for (int64_t i = 0; i < 2 * count; ++i)
        expect(gathered[static_cast<std::size_t>(i)] == value(static_cast<int>(i / count), launch, i % count), "rows",
               i);
    }
  }
}

/// Row `row` of a rank's A (m,1024) times column `column` of a rank's B (1024,512).
float product(int64_t row, int64_t column, int rank_of_a, int rank_of_b, int launch) {
  float sum = 0;
  for (int64_t k = 0; k < 1024; ++k)
    sum += value(rank_of_a, launch, row * 1024 + k) * value(rank_of_b, launch + 1, k * 512 + column);
  return sum;
}

/// Of two roundings to bf16.
bool is_close(float result, float exact, float magnitude) {
  return std::abs(result - exact) <= magnitude / 64;
}

void layer() {
  begin("layer");
  const Ranks<LayerW2> ranks(1 << 21);
  for (int launch = 0; launch < 20; ++launch) {
    for (int rank = 0; rank < world; ++rank) {
      fill(ranks.buffer<BFloat16>(rank, 0), 512 * 1024, rank, launch);
      fill(ranks.buffer<BFloat16>(rank, 1), 1024 * 512, rank, launch + 1);
    }
    ranks.launch([&](int rank) {
      return ranks.launcher(rank).launch(ranks.buffer<BFloat16>(rank, 0), ranks.buffer<BFloat16>(rank, 1),
                                         ranks.buffer<BFloat16>(rank, 2), ranks.stream(rank));
    });
    for (int rank = 0; rank < world; ++rank) {
      const std::vector<BFloat16> results = read(ranks.buffer<BFloat16>(rank, 2), 1024 * 512);
      for (int64_t i = launch; i < 1024 * 512; i += 61) {  // others in each launch
        const int64_t row = i / 512;
        const float exact = product(row % 512, i % 512, static_cast<int>(row / 512), rank, launch);
        expect(is_close(from_bits(results[static_cast<std::size_t>(i)]), exact, std::abs(exact)), "layer", i);
      }
    }
  }
}

template <typename Launcher>
void parts(const char* name) {
  begin(name);
  constexpr int64_t capacity = 512;
  const Ranks<Launcher> ranks(1 << 20, capacity);
  const auto buffer = [&](int rank, int number) { return ranks.template buffer<BFloat16>(rank, number); };
  for (int launch = 0; launch < 20; ++launch) {
    const int64_t m = capacity - 2 * launch;
    for (int rank = 0; rank < world; ++rank) {
      fill(buffer(rank, 0), m * 1024, rank, launch);
      fill(buffer(rank, 1), 1024 * 512, rank, launch + 1);
    }
    ranks.launch([&](int rank) {
      return ranks.launcher(rank).launch(buffer(rank, 0), buffer(rank, 1), buffer(rank, 2), m, ranks.stream(rank));
    });
    for (int rank = 0; rank < world; ++rank) {
      const std::vector<BFloat16> results = read(buffer(rank, 2), m / 2 * 512);
      for (int64_t i = launch; i < m / 2 * 512; i += 31) {
        const int64_t row = rank * (m / 2) + i / 512;
        const float first = product(row, i % 512, 0, 0, launch);
        const float second = product(row, i % 512, 1, 1, launch);
        expect(is_close(from_bits(results[static_cast<std::size_t>(i)]), first + second,
                        std::abs(first) + std::abs(second)),
               name, i);
      }
    }
  }
}

void fault() {
  begin("fault");
  const Ranks<TotalW2> ranks(4096, 1000);
  check(cudaSetDevice(1));
  check(ranks.launcher(1).launch(ranks.buffer<float>(1, 0), ranks.buffer<float>(1, 1), 100, ranks.stream(1)));
  check(cudaStreamSynchronize(ranks.stream(1)));
  const std::string text = ranks.launcher(1).fault();
  std::printf("%s\n", text.c_str());
  expect(text.starts_with("rank 1, block ") && text.find(" waited for rank 0 ") != std::string::npos, "fault");
}

}  // namespace

int main(int count, char**) {
  in_threads = count > 1;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // each line is out before what it names begins
  std::signal(SIGALRM, end_late);
  alarm(most_seconds);
  begin("load");
  for (int rank = 0; rank < world; ++rank) {
    check(cudaSetDevice(rank));
    check(cudaDeviceEnablePeerAccess(1 - rank, 0));
  }
  load<TotalW2>();
  load<RowsW2>();
  load<LayerW2>();
  load<PartsW2>();
  load<PortionsW2>();
  total();
  rows();
  layer();
  parts<PartsW2>("parts");
  parts<PortionsW2>("portions");
  fault();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
