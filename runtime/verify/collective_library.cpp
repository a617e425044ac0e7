#include "runtime/verify/collective_library.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace iris {
namespace {

DynamicLibrary open(irisgen::Platform platform, const std::string& path) {
  const bool amd = platform == irisgen::Platform::amd;
  const std::vector<std::string> names = {!path.empty() ? path : amd ? "librccl.so.1" : "libnccl.so.2"};
  try {
    return DynamicLibrary::open_first(names);
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string("cannot measure against ") + (amd ? "RCCL" : "NCCL") + ": " + error.what() +
                             "; install " + (amd ? "librccl1" : "libnccl2") + ", or put it on LD_LIBRARY_PATH");
  }
}

/// ncclDataType_t
int type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::i32:
      return 2;
    case Dtype::f16:
      return 6;
    case Dtype::f32:
      return 7;
    case Dtype::f64:
      return 8;
    case Dtype::bf16:
      return 9;
    default:
      throw std::invalid_argument("no collective of " + std::string(to_string(dtype)));
  }
}

/// ncclRedOp_t
int op_of(const Problem& problem) {
  switch (problem.op.value_or(Op::sum)) {
    case Op::sum:
      return 0;
    case Op::prod:
      return 1;
    case Op::max:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

CollectiveLibrary::CollectiveLibrary(irisgen::Platform platform, const std::string& path)
    : library_(open(platform, path)) {
  library_.bind(calls_.get_version, "ncclGetVersion");
  library_.bind(calls_.get_unique_id, "ncclGetUniqueId");
  library_.bind(calls_.error_string, "ncclGetErrorString");
  library_.bind(calls_.init_rank, "ncclCommInitRank");
  library_.bind(calls_.destroy, "ncclCommDestroy");
  library_.bind(calls_.group_start, "ncclGroupStart");
  library_.bind(calls_.group_end, "ncclGroupEnd");
  library_.bind(calls_.all_reduce, "ncclAllReduce");
  library_.bind(calls_.all_gather, "ncclAllGather");
  library_.bind(calls_.reduce_scatter, "ncclReduceScatter");
  library_.bind(calls_.broadcast, "ncclBroadcast");
  library_.bind(calls_.send, "ncclSend");
  library_.bind(calls_.receive, "ncclRecv");
  // Windows came with NCCL 2.27.
  if (library_.find("ncclCommWindowRegister") != nullptr) {
    library_.bind(calls_.allocate, "ncclMemAlloc");
    library_.bind(calls_.free, "ncclMemFree");
    library_.bind(calls_.register_window, "ncclCommWindowRegister");
    library_.bind(calls_.deregister_window, "ncclCommWindowDeregister");
  }
  description_ = platform == irisgen::Platform::amd ? "RCCL" : "NCCL";
  int version = 0;
  check(calls_.get_version(&version), "ncclGetVersion");
  description_ += " " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
                  std::to_string(version % 100);
}

NcclUniqueId CollectiveLibrary::make_id() const {
  NcclUniqueId id{};
  check(calls_.get_unique_id(&id), "ncclGetUniqueId");
  return id;
}

void CollectiveLibrary::check(Result result, const char* what) const {
  if (result == 0) return;
  throw std::runtime_error(std::string(what) + " of " + description_ + " failed: " + calls_.error_string(result));
}

Communicator::Communicator(const CollectiveLibrary& library, const NcclUniqueId& id, int world, int rank)
    : library_(library) {
  library.check(library.calls_.init_rank(&handle_, world, id, rank), "ncclCommInitRank");
}

Communicator::~Communicator() {
  library_.calls_.destroy(handle_);
}

void Communicator::enqueue(const Problem& problem, const void* input, void* output, Stream stream) const {
  const auto& calls = library_.calls_;
  const auto count = static_cast<std::size_t>(size_of(problem));
  const int type = type_of(problem.dtype);
  if (problem.pattern == "all_reduce") {
    library_.check(calls.all_reduce(input, output, count, type, op_of(problem), handle_, stream), "ncclAllReduce");
  } else if (problem.pattern == "all_gather") {
    library_.check(calls.all_gather(input, output, count, type, handle_, stream), "ncclAllGather");
  } else if (problem.pattern == "reduce_scatter") {
    library_.check(calls.reduce_scatter(input, output, count, type, op_of(problem), handle_, stream),
                   "ncclReduceScatter");
  } else if (problem.pattern == "broadcast") {
    library_.check(calls.broadcast(input, output, count, type, problem.root.value(), handle_, stream), "ncclBroadcast");
  } else {
    exchange(problem, static_cast<const char*>(input), static_cast<char*>(output), stream);
  }
}

/// all_to_all, as its documentation says to make it.
void Communicator::exchange(const Problem& problem, const char* input, char* output, Stream stream) const {
  const auto& calls = library_.calls_;
  const auto count = static_cast<std::size_t>(size_of(problem));
  const std::size_t bytes = count * static_cast<std::size_t>(bytes_of(problem.dtype));
  const int type = type_of(problem.dtype);
  library_.check(calls.group_start(), "ncclGroupStart");
  for (int peer = 0; peer < problem.world; ++peer) {
    const std::size_t shard = bytes * static_cast<std::size_t>(peer);
    library_.check(calls.send(input + shard, count, type, peer, handle_, stream), "ncclSend");
    library_.check(calls.receive(output + shard, count, type, peer, handle_, stream), "ncclRecv");
  }
  library_.check(calls.group_end(), "ncclGroupEnd");
}

LibraryMemory::LibraryMemory(const CollectiveLibrary& library, std::size_t bytes)
    : library_(library), bytes_(std::max<std::size_t>(bytes, 1)) {
  library.check(library.calls_.allocate(&data_, bytes_), "ncclMemAlloc");
}

LibraryMemory::~LibraryMemory() {
  library_.calls_.free(data_);
}

Window::Window(const Communicator& communicator, const LibraryMemory& memory) : communicator_(communicator) {
  constexpr int symmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC
  const CollectiveLibrary& library = communicator.library_;
  library.check(
      library.calls_.register_window(communicator.handle_, memory.data(), memory.bytes(), &handle_, symmetric),
      "ncclCommWindowRegister");
}

Window::~Window() {
  communicator_.library_.calls_.deregister_window(communicator_.handle_, handle_);
}

}  // namespace iris
