#include "runtime/jit/clang/import/remedies.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace iris::clang_library::importing {
namespace {

constexpr std::string_view rma = "iris/device/rma.hpp";
constexpr std::string_view signal = "iris/device/signal.hpp";
constexpr std::string_view barrier = "iris/device/barrier.hpp";
constexpr std::string_view atomics = "iris/device/atomics.hpp";
constexpr std::string_view partition = "iris/device/partition.hpp";

/// The first that fits counts: what is special stands before what is general.
constexpr std::array remedies = {
    // Threads and blocks.
    Remedy{"__syncthreads", "import-sync",
           "write sync_block(), or sync_block_after_stores() before a signal that says what the block has stored", ""},
    Remedy{"__syncthreads_and", "import-sync", "write sync_block_and(predicate)", ""},
    Remedy{"__syncthreads_*", "import-sync", "write sync_block_and(), over the opposite if need be", ""},
    Remedy{"__syncwarp", "import-warp", "the vocabulary has no warps; write sync_block()", ""},
    Remedy{"__shfl*", "import-warp",
           "the vocabulary has no warps; exchange values through shared<T>() and sync_block()", ""},
    Remedy{"__ballot*", "import-warp", "the vocabulary has no warps; write sync_block_and()", ""},
    Remedy{"__any_sync", "import-warp", "the vocabulary has no warps; write sync_block_and()", ""},
    Remedy{"__all_sync", "import-warp", "the vocabulary has no warps; write sync_block_and()", ""},
    Remedy{"__activemask", "import-warp", "the vocabulary has no warps", ""},
    Remedy{"warpSize", "import-warp", "the vocabulary has no warps; take Config::threads", ""},
    Remedy{"hipThreadIdx_x", "import-index", "write thread_index()", ""},
    Remedy{"hipBlockIdx_x", "import-index", "write block_index()", ""},
    Remedy{"hipBlockDim_x", "import-index", "write Config::threads", ""},
    Remedy{"hipGridDim_x", "import-index", "write Config::blocks", ""},
    Remedy{"__builtin_amdgcn_s_sleep", "import-clock", "remove it: a wait of the vocabulary backs off by itself", ""},
    Remedy{"__builtin_amdgcn_*", "import-builtin",
           "it is for one target alone; write it in C++: what GPUs alone have lies in the vocabulary", ""},
    Remedy{"__nvvm_*", "import-builtin",
           "it is for one target alone; write it in C++: what GPUs alone have lies in the vocabulary", ""},
    // Order.
    Remedy{"__threadfence*", "import-fence",
           "remove it: signal_release() publishes what was stored before it, and a wait acquires it", signal},
    Remedy{"atomic_thread_fence", "import-fence",
           "remove it: signal_release() publishes what was stored before it, and a wait acquires it", signal},
    Remedy{"__atomic_thread_fence", "import-fence",
           "remove it: signal_release() publishes what was stored before it, and a wait acquires it", signal},
    // Atomics.
    Remedy{"atomicInc*", "import-atomic", "write atomic_cas() in a loop; the vocabulary has no wrapping counter",
           atomics},
    Remedy{"atomicDec*", "import-atomic", "write atomic_cas() in a loop; the vocabulary has no wrapping counter",
           atomics},
    Remedy{"atomicAdd_system", "import-atomic", "write atomic_add(address, value): the system's scope is its default",
           atomics},
    Remedy{
        "atomicAdd*", "import-atomic",
        "write atomic_add<Order::relaxed, Scope::gpu>(address, value), without arguments where other ranks take part",
        atomics},
    Remedy{"atomicSub*", "import-atomic", "write atomic_sub(address, value)", atomics},
    Remedy{"atomicExch*", "import-atomic", "write atomic_xchg(address, value)", atomics},
    Remedy{"atomicCAS*", "import-atomic", "write atomic_cas(address, expected, desired)", atomics},
    Remedy{"atomicMin*", "import-atomic", "write atomic_min(address, value)", atomics},
    Remedy{"atomicMax*", "import-atomic", "write atomic_max(address, value)", atomics},
    Remedy{"atomicAnd*", "import-atomic", "write atomic_and(address, value)", atomics},
    Remedy{"atomicOr*", "import-atomic", "write atomic_or(address, value)", atomics},
    Remedy{"atomicXor*", "import-atomic", "write atomic_xor(address, value)", atomics},
    // What GPUs alone have.
    Remedy{"__ldg", "import-load", "read it plainly; load(context, address, peer) reads from another rank", rma},
    Remedy{"__ldc*", "import-load", "read it plainly; load(context, address, peer) reads from another rank", rma},
    Remedy{"__stc*", "import-load", "store it plainly; store(context, address, value, peer) writes to another rank",
           rma},
    Remedy{"printf", "import-host", "remove it: kernels print nothing; a wait that fails is reported by irisgen", ""},
    Remedy{"clock64", "import-clock", "remove it: waits are bounded by themselves, and `irisgen bench` measures", ""},
    Remedy{"wall_clock64", "import-clock", "remove it: waits are bounded by themselves, and `irisgen bench` measures",
           ""},
    Remedy{"__nanosleep", "import-clock", "remove it: a wait of the vocabulary backs off by itself", ""},
    Remedy{"__trap", "import-host", "return instead; a wait that fails has recorded why", ""},
    Remedy{"__hadd*", "import-type", "write convert<f32>() of both, +, and convert<T>() of the sum",
           "iris/device/numeric.hpp"},
    Remedy{"__half2float", "import-type", "write convert<f32>(value)", "iris/device/numeric.hpp"},
    Remedy{"__float2half*", "import-type", "write convert<f16>(value)", "iris/device/numeric.hpp"},
    Remedy{"__bfloat162float", "import-type", "write convert<f32>(value)", "iris/device/numeric.hpp"},
    Remedy{"__float2bfloat16*", "import-type", "write convert<bf16>(value)", "iris/device/numeric.hpp"},
    Remedy{"make_float*", "import-type", "write Pack<f32, width>", "iris/device/pack.hpp"},
    Remedy{"make_*", "import-type", "write Pack<T, width>", "iris/device/pack.hpp"},
    // NVSHMEM and ROC_SHMEM: on_rank() is nvshmem_ptr(), the heap is the same idea.
    Remedy{"shmem_my_pe", "import-rank", "write context.rank", ""},
    Remedy{"shmem_team_my_pe", "import-rank", "write context.rank", ""},
    Remedy{"shmem_n_pes", "import-rank", "write Config::world", ""},
    Remedy{"shmem_team_n_pes", "import-rank", "write Config::world", ""},
    Remedy{"shmem_ptr", "import-shmem", "write on_rank(context, address, peer)", rma},
    Remedy{"shmem_*put*_signal*", "import-shmem",
           "write put(context, source, destination, count, peer), sync_block_after_stores(), and one thread's "
           "signal_release(launch, flag, step, peer)",
           signal},
    Remedy{"shmem_*signal_wait*", "import-shmem",
           "write block_wait_acquire(launch, flag, step, peer, Wait::arrival), and return where it is false", signal},
    Remedy{"shmem_*wait*", "import-shmem",
           "write block_wait_acquire(launch, flag, step, peer, Wait::arrival), and return where it is false", signal},
    Remedy{"shmem_*test*", "import-shmem", "write block_wait_acquire(); the vocabulary waits, and does not ask",
           signal},
    Remedy{"shmem_*signal*", "import-shmem", "write signal_release(launch, flag, step, peer) by one thread", signal},
    Remedy{"shmem_*fetch*", "import-atomic", "write atomic_add(on_rank(context, address, peer), value) and its like",
           atomics},
    Remedy{"shmem_*atomic*", "import-atomic", "write atomic_add(on_rank(context, address, peer), value) and its like",
           atomics},
    Remedy{"shmem_*_p", "import-shmem", "write store(context, address, value, peer)", rma},
    Remedy{"shmem_*_g", "import-shmem", "write load(context, address, peer)", rma},
    Remedy{"shmem_*put*", "import-shmem", "write put(context, source, destination, count, peer), or store() by element",
           rma},
    Remedy{"shmem_*get*", "import-shmem", "write get(context, source, destination, count, peer), or load() by element",
           rma},
    Remedy{"shmem_*quiet*", "import-fence", "remove it: signal_release() publishes what was stored before it", signal},
    Remedy{"shmem_*fence*", "import-fence", "remove it: signal_release() publishes what was stored before it", signal},
    Remedy{"shmem_*barrier*", "import-barrier",
           "write if (!same_block_barrier(launch, Wait::entry)) return; all blocks of all ranks come to it", barrier},
    Remedy{"shmem_*sync*", "import-barrier",
           "write if (!same_block_barrier(launch, Wait::entry)) return; all blocks of all ranks come to it", barrier},
    Remedy{"shmem_*", "import-shmem",
           "the vocabulary has put, get, load, store and copy, signals, waits, barriers and atomics; or describe a "
           "collective by its pattern",
           rma},
    Remedy{"NVSHMEM_*", "import-shmem", "it goes with the call that it stands in", ""},
    Remedy{"ROCSHMEM_*", "import-shmem", "it goes with the call that it stands in", ""},
    Remedy{"ROC_SHMEM_*", "import-shmem", "it goes with the call that it stands in", ""},
    // Libraries whose collectives are patterns here.
    Remedy{"nccl*", "import-library",
           "no library is called from a kernel; describe the collective by its pattern, or write it by load(), store() "
           "and signals",
           rma},
    Remedy{"mori*", "import-library", "no library is called from a kernel; write put(), get(), signals and waits", rma},
};

constexpr std::array indices = {
    Remedy{"threadIdx.x", "import-index", "write thread_index()", ""},
    Remedy{"blockIdx.x", "import-index", "write block_index()", ""},
    Remedy{"blockDim.x", "import-index", "write Config::threads", ""},
    Remedy{"gridDim.x", "import-index", "write Config::blocks", ""},
};
constexpr Remedy other_dimension = {
    "", "import-index", "blocks and grids have one dimension; take / and % of thread_index() or block_index()",
    partition};

constexpr std::array assembly = {
    Remedy{"multimem", "import-asm", "the vocabulary has no in-network reduction; read by load() from each peer", rma},
    Remedy{
        "ld.acquire", "import-asm",
        "write block_wait_acquire(launch, flag, step, peer, Wait::step) for a flag, atomic_load<Order::acquire>() else",
        signal},
    Remedy{"ld.volatile", "import-asm", "write block_wait_acquire(launch, flag, step, peer, Wait::step)", signal},
    Remedy{"st.release", "import-asm",
           "write signal_release(launch, flag, step, peer) for a flag, atomic_store<Order::release>() else", signal},
    Remedy{"st.volatile", "import-asm", "write signal_release(launch, flag, step, peer)", signal},
    Remedy{"red.", "import-asm", "write atomic_add(address, value) and its like", atomics},
    Remedy{"atom.", "import-asm", "write atomic_add(address, value) and its like", atomics},
    Remedy{"membar", "import-asm", "remove it: signal_release() publishes what was stored before it", signal},
    Remedy{"fence", "import-asm", "remove it: signal_release() publishes what was stored before it", signal},
    Remedy{"s_waitcnt", "import-asm", "remove it: signal_release() publishes what was stored before it", signal},
    Remedy{"buffer_wbl2", "import-asm", "remove it: signal_release() publishes what was stored before it", signal},
    Remedy{"globaltimer", "import-asm", "remove it: waits are bounded by themselves", ""},
};
constexpr Remedy other_assembly = {
    "", "import-asm", "write it in C++: what GPUs alone have lies in the vocabulary, which every target compiles", ""};

constexpr std::size_t longest_name = 100;

/// `*` stands for anything.
bool fits(llvm::StringRef pattern, llvm::StringRef name) {
  const auto [head, rest] = pattern.split('*');
  if (head.size() == pattern.size()) return name == pattern;
  if (!name.consume_front(head)) return false;
  if (rest.empty()) return true;
  for (std::size_t at = 0; at <= name.size(); ++at) {
    if (fits(rest, name.substr(at))) return true;
  }
  return false;
}

}  // namespace

const Remedy* remedy_of(llvm::StringRef name) {
  if (name.size() > longest_name) return nullptr;
  // The functions of NVSHMEM, and of both ROC_SHMEMs, for threads, warps and blocks.
  llvm::StringRef plain = name;
  for (const char* prefix : {"nvshmemx_", "nvshmemi_", "nvshmem_", "roc_shmemx_", "roc_shmem_", "rocshmemx_",
                             "rocshmem_", "rocshmem_wg_", "ishmem_"}) {
    if (name.starts_with(prefix)) plain = name.substr(llvm::StringRef(prefix).size());
  }
  const std::string shmem = "shmem_" + plain.str();
  const llvm::StringRef wanted = plain.size() == name.size() ? name : llvm::StringRef(shmem);
  const auto* const found =
      std::ranges::find_if(remedies, [&](const Remedy& remedy) { return fits(remedy.name, wanted); });
  return found == remedies.end() ? nullptr : found;
}

const Remedy* remedy_of_index(llvm::StringRef variable, llvm::StringRef member) {
  static constexpr std::array<std::string_view, 4> variables = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
  if (std::ranges::find(variables, std::string_view(variable)) == variables.end()) return nullptr;
  const std::string name = variable.str() + "." + member.str();
  const auto* const found = std::ranges::find(indices, name, &Remedy::name);
  return found == indices.end() ? &other_dimension : found;
}

const Remedy& remedy_of_assembly(llvm::StringRef text) {
  const auto* const found =
      std::ranges::find_if(assembly, [&](const Remedy& remedy) { return text.contains(llvm::StringRef(remedy.name)); });
  return found == assembly.end() ? other_assembly : *found;
}

}  // namespace iris::clang_library::importing
