#include <nvshmem.h>
#include <nvshmemx.h>

// Passes each rank's values on to the next, put by put.
__global__ void ring(float* destination, const float* source, uint64_t* signal, size_t count) {
  const int me = nvshmem_my_pe();
  const int next = (me + 1) % nvshmem_n_pes();
  for (size_t chunk = 0; chunk < count; chunk += 1024)
    nvshmemx_float_put_signal_nbi_block(destination + chunk, source + chunk, 1024, signal, chunk, NVSHMEM_SIGNAL_SET,
                                        next);
  nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, count);
  nvshmem_quiet();
  if (threadIdx.x == 0) nvshmem_float_p(destination, 1.0f, next);
  nvshmemx_barrier_all_block();
}
