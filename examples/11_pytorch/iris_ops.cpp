// Operators on PyTorch's own tensors, for eager code and for CUDA graphs, over any group of ranks:
//
//   iris::all_reduce(input, output, ranks)                 output (m,n) = the sum of all ranks' input
//   iris::all_gather_matmul(input, weight, output, ranks)  output (m,n) = all ranks' input (m/world,k) · weight (n,k)ᵀ
//
// Each is planned for the tensors' shape and type and compiled at its first call, which all ranks of the group make, as
// they make all others. What other ranks read or write is made symmetric first. `ranks` empty: all.
#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include <iris/jit.hpp>
#include <iris/world.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using at::IntArrayRef;
using at::Tensor;

/// What this process has, from iris::start() to iris::stop().
struct Session {
  iris::World world;
  std::map<std::vector<int>, iris::Group> groups = {};
  std::map<std::string, iris::Operation> operations = {};
};

std::unique_ptr<Session> session;

iris::Group& group_of(IntArrayRef ranks) {
  TORCH_CHECK(session != nullptr, "iris::start() comes first");
  if (ranks.empty()) return session->world.context();
  const std::vector<int> key(ranks.begin(), ranks.end());
  const auto found = session->groups.find(key);
  if (found != session->groups.end()) return found->second;
  return session->groups.emplace(key, session->world.context().group(key)).first->second;
}

std::string dtype_of(const Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBFloat16:
      return "bf16";
    case at::kHalf:
      return "f16";
    case at::kFloat:
      return "f32";
    case at::kDouble:
      return "f64";
    default:
      TORCH_CHECK(false, "no kernel for tensors of ", tensor.scalar_type());
  }
}

/// PyTorch's current one, which a graph may be capturing; the CPU has none.
iris::Stream stream_of(const Tensor& tensor) {
  if (tensor.is_cpu()) return nullptr;
  const auto current = c10::impl::VirtualGuardImpl(tensor.device().type()).getStream(tensor.device());
  return [](const auto& stream) -> iris::Stream {
    if constexpr (requires { stream.native_handle(); }) return stream.native_handle();
    TORCH_CHECK(false, "PyTorch 2.3 or later is needed on GPUs");
  }(current);
}

void launch(const std::string& kernel, const std::vector<Tensor>& tensors, IntArrayRef ranks) {
  for (const Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.is_contiguous() && tensor.scalar_type() == tensors.front().scalar_type(),
                "tensors of one type, contiguous, are needed");
  }
  iris::Group& group = group_of(ranks);
  const std::string description = "irisgen: 1\nkernels: [{name: op, world: " + std::to_string(group.num_ranks()) +
                                  ", dtype: " + dtype_of(tensors.front()) + ", " + kernel + "}]\n";
  const std::string key = description + (std::stringstream() << ranks).str();
  auto found = session->operations.find(key);
  if (found == session->operations.end()) {
    found = session->operations.emplace(key, iris::jit(group, description)).first;
  }
  std::vector<void*> buffers;
  for (const Tensor& tensor : tensors) buffers.push_back(tensor.data_ptr());
  found->second.launch(buffers, {}, stream_of(tensors.front()));
}

void all_reduce(const Tensor& input, const Tensor& output, IntArrayRef ranks) {
  TORCH_CHECK(input.sizes() == output.sizes(), "the sum has the shape of what is summed");
  launch("pattern: all_reduce, shape: {n: " + std::to_string(input.numel()) + "}", {input, output}, ranks);
}

void all_gather_matmul(const Tensor& input, const Tensor& weight, const Tensor& output, IntArrayRef ranks) {
  const std::int64_t m = input.size(0) * group_of(ranks).num_ranks();
  const std::int64_t n = weight.size(0);
  const std::int64_t k = weight.size(1);
  TORCH_CHECK(input.size(1) == k && output.sizes() == IntArrayRef({m, n}), "(m/world,k) by (n,k) gives (m,n)");
  launch("pattern: all_gather_matmul, layout: {b: nk}, shape: {m: " + std::to_string(m) + ", n: " + std::to_string(n) +
             ", k: " + std::to_string(k) + "}",
         {input, weight, output}, ranks);
}

void symmetric(const Tensor& tensor, IntArrayRef ranks) {
  group_of(ranks).as_symmetric(tensor.data_ptr(), tensor.nbytes());
}

void start(const std::string& target) {
  session.reset(new Session{iris::World::join({.target = target, .heap_bytes = 64 << 20})});
}

}  // namespace

TORCH_LIBRARY(iris, library) {
  library.def("start(str target) -> ()", &start);
  library.def("symmetric(Tensor(a!) tensor, int[] ranks=[]) -> ()", &symmetric);
  library.def("all_reduce(Tensor input, Tensor(a!) output, int[] ranks=[]) -> ()", &all_reduce);
  library.def("all_gather_matmul(Tensor input, Tensor weight, Tensor(a!) output, int[] ranks=[]) -> ()",
              &all_gather_matmul);
  library.def("synchronize() -> ()", [] { group_of({}).synchronize(); });  // throws what a kernel's wait came to
  library.def("stop() -> ()", [] { session.reset(); });
}
