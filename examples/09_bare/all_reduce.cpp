// Sums the gradients of two GPUs of this process, each with memory of its own that the other may address.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#ifdef __HIP__
#include "gradient_sum.w2.gfx942.bare.hpp"
#define GPU(name) hip##name
const auto allocate = [](void** memory, std::size_t bytes) {
  return hipExtMallocWithFlags(memory, bytes, hipDeviceMallocFinegrained);
};
const auto allocate_host = [](void** memory, std::size_t bytes) {
  return hipHostMalloc(memory, bytes, hipHostMallocMapped | hipHostMallocCoherent);
};
#else
#include "gradient_sum.w2.sm_90a.bare.hpp"
#define GPU(name) cuda##name
const auto allocate = [](void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); };
const auto allocate_host = [](void** memory, std::size_t bytes) { return cudaMallocHost(memory, bytes); };
#endif

using Sum = irisgen_kernels::GradientSumW2;
constexpr std::size_t n = 85002;
constexpr std::size_t buffer_bytes = (n * sizeof(float) + 255) / 256 * 256;

static void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}
const auto check = [](GPU(Error_t) error) { require(error == GPU(Success), GPU(GetErrorString)(error)); };

static std::vector<float> gradient(const std::string& folder, int rank) {
  std::vector<float> values(n);
  std::ifstream file(folder + "/gradient_rank" + std::to_string(rank) + ".npy", std::ios::binary);
  file.seekg(128);  // behind NumPy's header
  require(bool(file.read(reinterpret_cast<char*>(values.data()), n * sizeof(float))), "no gradients in " + folder);
  return values;
}

int main(int, char** arguments) {
  Sum::Rank ranks[Sum::world] = {};
  GPU(Stream_t) streams[Sum::world];
  std::vector<float> inputs[Sum::world];
  char* bases[Sum::world];
  for (int rank = 0; rank < Sum::world; ++rank) {  // allocates and loads all that launches need
    bool fits = false;
    check(GPU(SetDevice)(rank));
    check(Sum::fits(&fits));
    require(fits, "the kernel's blocks do not fit on this GPU together");
    check(GPU(DeviceEnablePeerAccess)(1 - rank, 0));
    check(GPU(StreamCreate)(&streams[rank]));
    check(allocate(reinterpret_cast<void**>(&bases[rank]), 2 * buffer_bytes + Sum::memory_bytes()));
    check(GPU(Memset)(bases[rank] + 2 * buffer_bytes, 0, Sum::zeroed_bytes()));
    check(allocate_host(reinterpret_cast<void**>(&ranks[rank].fault), sizeof(iris::device::Fault)));
    *ranks[rank].fault = {};
    inputs[rank] = gradient(arguments[1] ? arguments[1] : "examples/data", rank);
    check(GPU(Memcpy)(bases[rank], inputs[rank].data(), n * sizeof(float), GPU(MemcpyDefault)));
    check(GPU(DeviceSynchronize)());
  }
  for (int rank = 0; rank < Sum::world; ++rank) {  // only now: all have zeroed their memory
    ranks[rank] = {rank, {bases[0], bases[1]}, bases[rank] + 2 * buffer_bytes, ranks[rank].fault};
    auto* const input = reinterpret_cast<float*>(bases[rank]);
    check(GPU(SetDevice)(rank));
    for (int launch = 0; launch < 100; ++launch)
      check(Sum(ranks[rank]).launch(input, input + buffer_bytes / sizeof(float), streams[rank]));
  }
  std::vector<float> sums(n);
  for (int rank = 0; rank < Sum::world; ++rank) {
    check(GPU(StreamSynchronize)(streams[rank]));
    require(Sum(ranks[rank]).fault().empty(), Sum(ranks[rank]).fault());
    check(GPU(Memcpy)(sums.data(), bases[rank] + buffer_bytes, n * sizeof(float), GPU(MemcpyDefault)));
    for (std::size_t i = 0; i < n; ++i) require(sums[i] == inputs[0][i] + inputs[1][i], "a sum is wrong");
  }
  std::printf("100 launches on %d GPUs: all %zu sums are right on each\n", Sum::world, n);
}
