#pragma once

#include <iris/device/numeric.hpp>
#include <iris/device/platform/matrix_descriptor.hpp>

/// What NVIDIA's compute capability 9.0a has beside a GPU's usual instructions (NVRTC or nvcc, CUDA 13): copies by the
/// tensor memory accelerator, barriers in shared memory that such copies count down, and matrix products by whole
/// warpgroups. Each function is one instruction of PTX; see "Parallel Thread Execution ISA", sections "Asynchronous
/// Warpgroup Level Matrix Instructions", "mbarrier" and "Tensor".
namespace iris::device::platform {

// --- Barriers in shared memory. A phase ends when all arrivals and announced bytes have come.

__device__ __forceinline__ void init_barrier(u64& barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}
/// Makes initialised barriers known to the tensor memory accelerator.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void arrive(u64& barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}
/// Arrives, and announces so many bytes of copies.
__device__ __forceinline__ void arrive_and_expect(u64& barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
               "r"(bytes)
               : "memory");
}
/// Waits until the phase of that parity has ended. One statement, of which a loop of products can be unrolled.
__device__ __forceinline__ void wait_barrier(u64& barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred ended;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again;\n}" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

// --- Copies. The accelerator sees memory through a proxy of its own, so that stores by threads, to shared memory or by
// --- other GPUs, come to it only after a fence between the two. One for both kinds of memory also waits until
// --- the whole GPU sees all that the thread has stored.

/// For what has come to the GPU's memory and has been acquired.
__device__ __forceinline__ void fence_global_for_copies() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// For what the thread has stored to shared memory.
__device__ __forceinline__ void fence_shared_for_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Copies a box of the matrix to shared memory; zeros where it sticks out. The barrier counts the bytes.
__device__ __forceinline__ void copy_box(void* to, const TensorMap* map, i32 column, i32 row, u64& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(&barrier))
      : "memory");
}

/// Copies to shared memory; addresses and bytes are multiples of 16. The barrier counts the bytes.
__device__ __forceinline__ void copy_in(void* to, const void* from, u32 bytes, u64& barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(&barrier))
               : "memory");
}
/// Copies from shared memory to memory of any rank; addresses and bytes are multiples of 16.
__device__ __forceinline__ void copy_out(void* to, const void* from, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void commit_copies_out() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Until this thread's copies have read shared memory, but for the last `pending` groups that it has committed.
template <int pending = 0>
__device__ __forceinline__ void wait_copies_out_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}
/// Until they have been written, so that a release by this thread publishes them.
template <int pending = 0>
__device__ __forceinline__ void wait_copies_out() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}

/// The value, of which the compiler knows nothing, so that it computes nothing of it before.
__device__ __forceinline__ int opaque(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// --- Warpgroups.

/// A value that all threads of the warp have, as the compiler then knows: what depends on it alone is computed once,
/// and where branches do, the warp stays together.
__device__ __forceinline__ int uniform(int value) {
  return __shfl_sync(0xffffffff, value, 0);
}
/// True in one thread of the warp, the same each time; all threads call it together. The compiler then knows that there
/// is one, and issues its copies as they stand; under any other condition it asks every thread in a loop.
__device__ __forceinline__ bool elect() {
  u32 elected = 0;
  asm volatile(
      "{\n.reg .pred elected;\n"
      "elect.sync _|elected, 0xffffffff;\n"
      "@elected mov.u32 %0, 1;\n}"
      : "+r"(elected));
  return elected != 0;
}
__device__ __forceinline__ void sync_warp() {
  __syncwarp();
}
/// Waits for `threads` threads that call it with the same `group`, whole warps; true if all of them passed true. Groups
/// of a block are numbered from 0 to 14.
__device__ __forceinline__ bool sync_group_and(bool mine, u32 group, u32 threads) {
  u32 all;
  asm volatile(
      "{\n.reg .pred mine, all;\n"
      "setp.ne.u32 mine, %1, 0;\n"
      "barrier.cta.red.and.pred all, %2, %3, mine;\n"
      "selp.u32 %0, 1, 0, all;\n}"
      : "=r"(all)
      : "r"(u32{mine}), "r"(group + 1), "r"(threads)
      : "memory");
  return all != 0;
}
/// sync_warp(); true if every thread passed true.
__device__ __forceinline__ bool sync_warp_and(bool mine) {
  const bool all = __all_sync(0xffffffff, mine) != 0;
  __syncwarp();  // a vote orders no memory
  return all;
}

/// Four 8×8 matrices of 16-bit elements go to shared memory; thread 8·i + j gives the address of row j of matrix i.
__device__ __forceinline__ void store_matrices(void* row, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}

/// The same of matrices that are transposed on the way: row j of matrix i in memory is its column j.
__device__ __forceinline__ void store_transposed_matrices(void* row, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Until the products are done, but for the last `pending` groups that have been committed.
template <int pending = 0>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// Before the first product and after the last: what comes before and after does not touch the sums between, for which
/// ptxas would let each product wait for the one before.
template <int count>
__device__ __forceinline__ void fence_sums(f32 (&sums)[count]) {
#pragma unroll
  for (f32& sum : sums) asm volatile("" : "+f"(sum)::"memory");
}

// The sums of a 64 × n product, n / 2 in each thread, as operands of an assembly statement: in groups of 16.
#define IRIS_SUMS4(i) "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3])
#define IRIS_SUMS16(i) IRIS_SUMS4(i), IRIS_SUMS4(i + 4), IRIS_SUMS4(i + 8), IRIS_SUMS4(i + 12)
#define IRIS_NAMES32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define IRIS_SUMS_OF32 IRIS_SUMS16(0)
#define IRIS_NAMES64 IRIS_NAMES32 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define IRIS_SUMS_OF64 IRIS_SUMS_OF32, IRIS_SUMS16(16)
#define IRIS_NAMES96 IRIS_NAMES64 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define IRIS_SUMS_OF96 IRIS_SUMS_OF64, IRIS_SUMS16(32)
#define IRIS_NAMES128 IRIS_NAMES96 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define IRIS_SUMS_OF128 IRIS_SUMS_OF96, IRIS_SUMS16(48)
#define IRIS_NAMES160 IRIS_NAMES128 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define IRIS_SUMS_OF160 IRIS_SUMS_OF128, IRIS_SUMS16(64)
#define IRIS_NAMES192 IRIS_NAMES160 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define IRIS_SUMS_OF192 IRIS_SUMS_OF160, IRIS_SUMS16(80)
#define IRIS_NAMES224 \
  IRIS_NAMES192 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define IRIS_SUMS_OF224 IRIS_SUMS_OF192, IRIS_SUMS16(96)
#define IRIS_NAMES256 \
  IRIS_NAMES224 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define IRIS_SUMS_OF256 IRIS_SUMS_OF224, IRIS_SUMS16(112)
// The operands after the sums are a, b, add and, of 16 bits, transposed; their numbers come first, the sums last.
#define IRIS_PRODUCT_16(n, k, type, names, a_number, b_number, add_number, transposed_number, ...)          \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" add_number                                          \
               ", 0;\n"                                                                                     \
               "wgmma.mma_async.sync.aligned.m64n" n "k" k ".f32." type "." type " {" names "}, %" a_number \
               ", %" b_number ", add, 1, 1, 0, %" transposed_number ";\n}"                                  \
               : __VA_ARGS__                                                                                \
               : "l"(whole_a), "l"(whole_b), "r"(add), "n"(transposed ? 1 : 0))
#define IRIS_PRODUCT_ALONG_K(n, k, type, names, a_number, b_number, add_number, transposed_number, ...)     \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" add_number                                          \
               ", 0;\n"                                                                                     \
               "wgmma.mma_async.sync.aligned.m64n" n "k" k ".f32." type "." type " {" names "}, %" a_number \
               ", %" b_number ", add, 1, 1;\n}"                                                             \
               : __VA_ARGS__                                                                                \
               : "l"(whole_a), "l"(whole_b), "r"(add))
#define IRIS_PRODUCT_OF(IRIS_PRODUCT, k, type)                                                \
  if constexpr (columns == 64) {                                                              \
    IRIS_PRODUCT("64", k, type, IRIS_NAMES64, "32", "33", "34", "35", IRIS_SUMS_OF64);        \
  } else if constexpr (columns == 96) {                                                       \
    IRIS_PRODUCT("96", k, type, IRIS_NAMES96, "48", "49", "50", "51", IRIS_SUMS_OF96);        \
  } else if constexpr (columns == 128) {                                                      \
    IRIS_PRODUCT("128", k, type, IRIS_NAMES128, "64", "65", "66", "67", IRIS_SUMS_OF128);     \
  } else if constexpr (columns == 160) {                                                      \
    IRIS_PRODUCT("160", k, type, IRIS_NAMES160, "80", "81", "82", "83", IRIS_SUMS_OF160);     \
  } else if constexpr (columns == 192) {                                                      \
    IRIS_PRODUCT("192", k, type, IRIS_NAMES192, "96", "97", "98", "99", IRIS_SUMS_OF192);     \
  } else if constexpr (columns == 224) {                                                      \
    IRIS_PRODUCT("224", k, type, IRIS_NAMES224, "112", "113", "114", "115", IRIS_SUMS_OF224); \
  } else {                                                                                    \
    IRIS_PRODUCT("256", k, type, IRIS_NAMES256, "128", "129", "130", "131", IRIS_SUMS_OF256); \
  }

template <typename T, typename Other>
inline constexpr bool is_same = false;
template <typename T>
inline constexpr bool is_same<T, T> = true;

/// sums = a·b (add 0) or sums += a·b, for 64 rows, that many columns and a depth of 32 bytes, asynchronously. The
/// operands are the lower halves of matrix descriptors. Rows of `a` are contiguous along k; those of `b` along n if it
/// is transposed, which only elements of 16 bits can be, else along k. Of tf32 the lower 13 bits are not looked at.
template <typename T, bool transposed, int columns>
__device__ __forceinline__ void multiply_32_bytes(f32 (&sums)[columns / 2], u32 a, u32 b, u32 add) {
  static_assert(columns % 32 == 0 && columns >= 64 && columns <= 256,
                "a product is a multiple of 32 columns wide, from 64 to 256");
  static_assert(!transposed || columns % 64 == 0, "operands along n are in panels of 64 columns");
  static_assert(!transposed || sizeof(T) == 2, "elements of 8 and 32 bits are contiguous along k");
  const u64 whole_a = whole_descriptor(a);
  const u64 whole_b = whole_descriptor(b);
  if constexpr (is_same<T, e4m3>) {
    IRIS_PRODUCT_OF(IRIS_PRODUCT_ALONG_K, "32", "e4m3")
  } else if constexpr (is_same<T, tf32>) {
    IRIS_PRODUCT_OF(IRIS_PRODUCT_ALONG_K, "8", "tf32")
  } else if constexpr (is_same<T, bf16>) {
    IRIS_PRODUCT_OF(IRIS_PRODUCT_16, "16", "bf16")
  } else {
    IRIS_PRODUCT_OF(IRIS_PRODUCT_16, "16", "f16")
  }
}
#undef IRIS_PRODUCT_OF
#undef IRIS_PRODUCT_ALONG_K
#undef IRIS_PRODUCT_16
#undef IRIS_SUMS_OF256
#undef IRIS_NAMES256
#undef IRIS_SUMS_OF224
#undef IRIS_NAMES224
#undef IRIS_SUMS_OF192
#undef IRIS_NAMES192
#undef IRIS_SUMS_OF160
#undef IRIS_NAMES160
#undef IRIS_SUMS_OF128
#undef IRIS_NAMES128
#undef IRIS_SUMS_OF96
#undef IRIS_NAMES96
#undef IRIS_SUMS_OF64
#undef IRIS_NAMES64
#undef IRIS_SUMS_OF32
#undef IRIS_NAMES32
#undef IRIS_SUMS16
#undef IRIS_SUMS4

/// Registers of each thread of the calling warpgroup, a multiple of 8, from now on: `count`, more than before, as soon
/// as another has left so many; or fewer than before.
template <int count>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ __forceinline__ void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

}  // namespace iris::device::platform
