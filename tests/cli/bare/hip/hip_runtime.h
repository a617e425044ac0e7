#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

// The calls of HIP's runtime that bare headers make, on the CPU: a stream is a chain of tasks, a kernel's threads are
// threads of the system. Kernels are those of target host, whose engine stands at the end of this file.

enum hipError_t { hipSuccess, hipErrorInvalidValue };
enum hipMemcpyKind { hipMemcpyDefault };
enum hipDeviceAttribute_t { hipDeviceAttributeMultiprocessorCount };

struct FakeStream {
  std::shared_future<void> last;  ///< of its tasks

  void enqueue(std::function<void()> task) {
    last = std::async(std::launch::async, [before = last, task = std::move(task)] {
             if (before.valid()) before.wait();
             task();
           }).share();
  }
};
struct FakeEvent {
  std::shared_future<void> at;
};
using hipStream_t = FakeStream*;
using hipEvent_t = FakeEvent*;

inline hipError_t hipGetDevice(int* device) {
  *device = 0;
  return hipSuccess;
}
inline int fake_units = 4;
inline hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t, int) {
  *value = fake_units;
  return hipSuccess;
}
inline std::set<const void*> fake_loaded;  ///< kernels of which somebody asked
template <typename Kernel>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int, std::size_t) {
  fake_loaded.insert(reinterpret_cast<const void*>(kernel));
  *blocks = 1;
  return hipSuccess;
}
inline thread_local hipError_t fake_last_error = hipSuccess;
inline hipError_t hipGetLastError() {
  return std::exchange(fake_last_error, hipSuccess);
}
inline hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind, hipStream_t stream) {
  stream->enqueue([=] { std::memcpy(to, from, bytes); });
  return hipSuccess;
}
inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  event->at = stream->last;
  return hipSuccess;
}
inline hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  if (event->at.valid()) stream->enqueue([at = event->at] { at.wait(); });
  return hipSuccess;
}
inline void fake_synchronize(hipStream_t stream) {
  if (stream->last.valid()) stream->last.wait();
}

/// A block whose threads run.
struct FakeBlock {
  explicit FakeBlock(int threads) : sync(threads) {}
  std::barrier<> sync;
  std::atomic<int> no{0};  ///< threads that passed 0 to sync_block_and
  std::mutex mutex;
  std::map<const void*, std::vector<std::max_align_t>> shared;
};
inline thread_local FakeBlock* fake_block = nullptr;
inline thread_local unsigned fake_block_index = 0;
inline thread_local unsigned fake_thread_index = 0;
inline std::chrono::milliseconds fake_timeout{60'000};

/// What the test makes of `kernel<<<blocks, threads, 0, stream>>>(arguments…)`.
template <typename... Parameters, typename... Arguments>
void fake_launch(void (*kernel)(Parameters...), int blocks, int threads, hipStream_t stream,
                 const Arguments&... arguments) {
  stream->enqueue([kernel, blocks, threads, values = std::tuple<Parameters...>(arguments...)] {
    std::vector<std::unique_ptr<FakeBlock>> all;
    for (int block = 0; block < blocks; ++block) all.push_back(std::make_unique<FakeBlock>(threads));
    std::vector<std::jthread> running;
    for (int i = 0; i < blocks * threads; ++i) {
      running.emplace_back([&, i] {
        fake_block = all[static_cast<std::size_t>(i / threads)].get();
        fake_block_index = static_cast<unsigned>(i / threads);
        fake_thread_index = static_cast<unsigned>(i % threads);
        std::apply(kernel, values);
        fake_block->sync.arrive_and_drop();
      });
    }
  });
}
