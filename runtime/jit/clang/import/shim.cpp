#include "runtime/jit/clang/import/shim.hpp"

namespace iris::clang_library::importing {

const char* const gpu_names =
    R"names(#pragma GCC system_header
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define IRIS_ANYWHERE __attribute__((host)) __attribute__((device))
#define hipLaunchKernelGGL(kernel, grid, block, bytes, stream, ...) \
            kernel<<<(grid), (block), (bytes), (stream)>>>(__VA_ARGS__)
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define assert(condition) ((void)(condition))
#define CUDART_CB
#define CUDA_VERSION 13000

          typedef __SIZE_TYPE__ size_t;
          typedef __PTRDIFF_TYPE__ ptrdiff_t;
          typedef __INTPTR_TYPE__ intptr_t;
          typedef __UINTPTR_TYPE__ uintptr_t;
          typedef signed char int8_t;
          typedef unsigned char uint8_t;
          typedef short int16_t;
          typedef unsigned short uint16_t;
          typedef int int32_t;
          typedef unsigned int uint32_t;
          typedef long int64_t;
          typedef unsigned long uint64_t;
          typedef unsigned int uint;
          namespace std {
          using ::int16_t;
          using ::int32_t;
          using ::int64_t;
          using ::int8_t;
          using ::intptr_t;
          using ::ptrdiff_t;
          using ::size_t;
          using ::uint16_t;
          using ::uint32_t;
          using ::uint64_t;
          using ::uint8_t;
          using ::uintptr_t;
          template <bool, typename T = void>
          struct enable_if {};
          template <typename T>
          struct enable_if<true, T> {
            using type = T;
          };
          template <bool condition, typename T = void>
          using enable_if_t = typename enable_if<condition, T>::type;
          template <typename A, typename B>
          inline constexpr bool is_same_v = __is_same(A, B);
          template <typename A, typename B>
          struct is_same {
            static constexpr bool value = __is_same(A, B);
          };
          }  // namespace std

          struct uint3 {
            unsigned int x, y, z;
          };
          struct dim3 {
            unsigned int x, y, z;
            IRIS_ANYWHERE constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
          };
          extern const __device__ uint3 threadIdx, blockIdx;
          extern const __device__ dim3 blockDim, gridDim;
          extern const __device__ int warpSize;

#define IRIS_VECTOR(type, name)                               \
            struct name##1 {                                            \
              type x;                                                   \
            };                                                          \
            struct name##2 {                                            \
              type x, y;                                                \
            };                                                          \
            struct name##3 {                                            \
              type x, y, z;                                             \
            };                                                          \
            struct __attribute__((aligned(4 * sizeof(type)))) name##4 { \
              type x, y, z, w;                                          \
            };                                                          \
            IRIS_ANYWHERE name##2 make_##name##2(type, type);           \
            IRIS_ANYWHERE name##3 make_##name##3(type, type, type);     \
            IRIS_ANYWHERE name##4 make_##name##4(type, type, type, type);
          typedef unsigned char iris_uchar;
          typedef unsigned short iris_ushort;
          typedef unsigned long iris_ulong;
          typedef long long iris_longlong;
          typedef unsigned long long iris_ulonglong;
          IRIS_VECTOR(float, float)
          IRIS_VECTOR(double, double)
          IRIS_VECTOR(int, int)
#undef IRIS_VECTOR
#define IRIS_VECTOR(type, name)                               \
            struct name##1 {                                            \
              type x;                                                   \
            };                                                          \
            struct name##2 {                                            \
              type x, y;                                                \
            };                                                          \
            struct __attribute__((aligned(4 * sizeof(type)))) name##4 { \
              type x, y, z, w;                                          \
            };                                                          \
            IRIS_ANYWHERE name##2 make_##name##2(type, type);           \
            IRIS_ANYWHERE name##4 make_##name##4(type, type, type, type);
          IRIS_VECTOR(unsigned int, uint)
          IRIS_VECTOR(char, char)
          IRIS_VECTOR(iris_uchar, uchar)
          IRIS_VECTOR(short, short)
          IRIS_VECTOR(iris_ushort, ushort)
          IRIS_VECTOR(long, long)
          IRIS_VECTOR(iris_ulong, ulong) IRIS_VECTOR(iris_longlong, longlong) IRIS_VECTOR(iris_ulonglong, ulonglong)

#define IRIS_FLOAT(name)                  \
            struct name {                           \
              IRIS_ANYWHERE name();                 \
              IRIS_ANYWHERE name(float);            \
              IRIS_ANYWHERE operator float() const; \
              IRIS_ANYWHERE name& operator+=(name); \
              IRIS_ANYWHERE name& operator*=(name); \
              unsigned short bits;                  \
            };                                      \
            struct name##2 {                        \
              name x, y;                            \
            };
              IRIS_FLOAT(__half) IRIS_FLOAT(__nv_bfloat16) IRIS_FLOAT(__hip_bfloat16)
                  IRIS_FLOAT(__nv_fp8_e4m3) typedef __half half;
          typedef __half2 half2;
          typedef __nv_bfloat16 nv_bfloat16;
          typedef __nv_bfloat162 nv_bfloat162;
          typedef __hip_bfloat16 hip_bfloat16;
          IRIS_ANYWHERE float __half2float(__half);
          IRIS_ANYWHERE __half __float2half(float);
          IRIS_ANYWHERE float __bfloat162float(__nv_bfloat16);
          IRIS_ANYWHERE __nv_bfloat16 __float2bfloat16(float);
          IRIS_ANYWHERE __half __hadd(__half, __half);
          IRIS_ANYWHERE __half2 __hadd2(__half2, __half2);
          IRIS_ANYWHERE __nv_bfloat16 __hadd(__nv_bfloat16, __nv_bfloat16);

          __device__ void __syncthreads();
          __device__ int __syncthreads_or(int);
          __device__ int __syncthreads_and(int);
          __device__ int __syncthreads_count(int);
          __device__ void __syncwarp(unsigned = ~0u);
          __device__ void __threadfence();
          __device__ void __threadfence_block();
          __device__ void __threadfence_system();
          __device__ unsigned __activemask();
          __device__ unsigned long long __ballot(int);
          __device__ unsigned __ballot_sync(unsigned, int);
          __device__ int __any_sync(unsigned, int);
          __device__ int __all_sync(unsigned, int);
#define IRIS_SHUFFLE(name)             \
            template <typename T>                \
            __device__ T name(T, int, int = 32); \
            template <typename T>                \
            __device__ T name##_sync(unsigned long long, T, int, int = 32);
          IRIS_SHUFFLE(__shfl)
          IRIS_SHUFFLE(__shfl_up)
          IRIS_SHUFFLE(__shfl_down)
          IRIS_SHUFFLE(__shfl_xor)
          template <typename T>
          __device__ T __ldg(const T*);
          template <typename T>
          __device__ T __ldcg(const T*);
          template <typename T>
          __device__ T __ldcv(const T*);
          template <typename T>
          __device__ void __stcg(T*, T);
          template <typename T>
          __device__ T __builtin_nontemporal_load_of(const T*);
#define IRIS_ATOMIC(name)            \
            template <typename T, typename V>  \
            __device__ T name(T*, V);          \
            template <typename T, typename V>  \
            __device__ T name##_system(T*, V); \
            template <typename T, typename V>  \
            __device__ T name##_block(T*, V);
          IRIS_ATOMIC(atomicAdd)
          IRIS_ATOMIC(atomicSub)
          IRIS_ATOMIC(atomicExch)
          IRIS_ATOMIC(atomicMin)
          IRIS_ATOMIC(atomicMax)
          IRIS_ATOMIC(atomicAnd)
          IRIS_ATOMIC(atomicOr)
          IRIS_ATOMIC(atomicXor)
          IRIS_ATOMIC(atomicInc) IRIS_ATOMIC(atomicDec) template <typename T, typename V, typename W>
          __device__ T atomicCAS(T*, V, W);
          template <typename T, typename V, typename W>
          __device__ T atomicCAS_system(T*, V, W);
          template <typename T, typename V, typename W>
          __device__ T atomicCAS_block(T*, V, W);
          __device__ long long clock64();
          __device__ long long wall_clock64();
          __device__ void __nanosleep(unsigned);
          __device__ void __trap();
          __device__ void abort();
          int printf(const char*, ...);
          int fprintf(void*, const char*, ...);
#define IRIS_MATH(name)               \
            IRIS_ANYWHERE float name##f(float); \
            IRIS_ANYWHERE double name(double);
          IRIS_MATH(sqrt)
          IRIS_MATH(rsqrt)
          IRIS_MATH(exp)
          IRIS_MATH(exp2)
          IRIS_MATH(log)
          IRIS_MATH(log2)
          IRIS_MATH(sin)
          IRIS_MATH(cos)
          IRIS_MATH(tanh) IRIS_MATH(erf) IRIS_MATH(fabs) IRIS_MATH(floor) IRIS_MATH(ceil) IRIS_ANYWHERE
              float fmaf(float, float, float);
          IRIS_ANYWHERE double fma(double, double, double);
          IRIS_ANYWHERE float powf(float, float);
          IRIS_ANYWHERE float fmaxf(float, float);
          IRIS_ANYWHERE float fminf(float, float);
          IRIS_ANYWHERE float __expf(float);
          IRIS_ANYWHERE float __fdividef(float, float);
          template <typename T>
          IRIS_ANYWHERE T min(T, T);
          template <typename T>
          IRIS_ANYWHERE T max(T, T);

          typedef struct iris_stream* hipStream_t;
          typedef struct iris_stream* cudaStream_t;
          typedef int hipError_t;
          typedef int cudaError_t;
          enum { hipSuccess = 0, cudaSuccess = 0 };
          extern "C" int hipConfigureCall(dim3, dim3, size_t = 0, hipStream_t = 0);
          extern "C" unsigned __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = 0);
          extern "C" hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
          template <typename F>
          hipError_t cudaLaunchCooperativeKernel(F, dim3, dim3, void**, size_t = 0, cudaStream_t = 0);
          template <typename F>
          hipError_t hipLaunchCooperativeKernel(F, dim3, dim3, void**, size_t = 0, hipStream_t = 0);

          namespace cooperative_groups {
          struct group {
            __device__ void sync() const;
            __device__ unsigned thread_rank() const;
            __device__ unsigned size() const;
            __device__ unsigned num_threads() const;
            __device__ unsigned block_rank() const;
            __device__ unsigned num_blocks() const;
            __device__ bool is_valid() const;
          };
          struct grid_group : group {};
          struct multi_grid_group : group {};
          struct thread_block : group {};
          template <int size>
          struct thread_block_tile : group {
            template <typename T>
            __device__ T shfl_down(T, int) const;
            template <typename T>
            __device__ T shfl(T, int) const;
            template <typename T>
            __device__ T shfl_xor(T, int) const;
          };
          __device__ grid_group this_grid();
          __device__ multi_grid_group this_multi_grid();
          __device__ thread_block this_thread_block();
          template <int size, typename G>
          __device__ thread_block_tile<size> tiled_partition(const G&);
          template <typename G>
          __device__ void sync(const G&);
          }  // namespace cooperative_groups

          namespace cuda {
          enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
          enum memory_order {
            memory_order_relaxed,
            memory_order_acquire,
            memory_order_release,
            memory_order_acq_rel,
            memory_order_seq_cst
          };
          namespace std {
          using namespace ::cuda;
          }
          template <typename T, thread_scope scope = thread_scope_system>
          struct atomic_ref {
            IRIS_ANYWHERE explicit atomic_ref(T&);
            IRIS_ANYWHERE T load(memory_order = memory_order_seq_cst) const;
            IRIS_ANYWHERE void store(T, memory_order = memory_order_seq_cst) const;
            IRIS_ANYWHERE T fetch_add(T, memory_order = memory_order_seq_cst) const;
            IRIS_ANYWHERE T exchange(T, memory_order = memory_order_seq_cst) const;
          };
          template <typename T, thread_scope scope = thread_scope_system>
          using atomic = atomic_ref<T, scope>;
          IRIS_ANYWHERE void atomic_thread_fence(memory_order, thread_scope = thread_scope_system);
          }  // namespace cuda
    )names";

}  // namespace iris::clang_library::importing
