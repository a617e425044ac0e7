"""A tensor-parallel layer on PyTorch's own tensors: irisgen's kernels beside the collectives of torch.distributed.

    torchrun --nproc-per-node 4 layer.py libiris_ops.so

Each rank has some rows of x, and of each weight its part of the features:

    hidden = gelu(all_gather(x) · up_weightᵀ)     all_gather_matmul by irisgen
    y      = all_reduce(hidden · down_weightᵀ)    all_reduce by irisgen, then over pairs of ranks, a group

beside which torch.distributed does the same (NCCL). On GPUs both are captured in one graph, which is replayed with new
values. Ends with an error unless the results are PyTorch's. Without a GPU it runs on the CPU (`host`, gloo).
"""
import mmap
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F

torch.ops.load_library(sys.argv[1])
iris = torch.ops.iris
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
on_gpu = torch.cuda.is_available()
device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
dtype = torch.bfloat16 if on_gpu else torch.float32
if world % 2:
    sys.exit(f"an even number of ranks is needed, not {world}: they sum in pairs, too")
rows, features, hidden_features = (512 * world, 2048, 1024) if on_gpu else (16 * world, 64, 32)


def symmetric(*shape):
    """A tensor that other ranks reach: PyTorch's own memory on a GPU; on the CPU whole pages are asked for."""
    if on_gpu:
        tensor = torch.empty(shape, dtype=dtype, device=device)
    else:
        elements = torch.Size(shape).numel()
        tensor = torch.frombuffer(mmap.mmap(-1, elements * 4, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), dtype=dtype).view(shape)
    iris.symmetric(tensor)
    return tensor


def random(*shape):
    return torch.randn(shape, dtype=dtype, device=device)


if on_gpu:
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    major, minor = torch.cuda.get_device_capability(device)
    iris.start(f"sm_{major}{minor}a" if torch.version.cuda else torch.cuda.get_device_properties(device).gcnArchName)
else:
    dist.init_process_group("gloo")
    iris.start("host")
torch.manual_seed(rank)

x = symmetric(rows // world, features)
up_weight = random(hidden_features, features) / features**0.5
down_weight = random(features, hidden_features) / hidden_features**0.5
hidden = torch.empty(rows, hidden_features, dtype=dtype, device=device)
partial, y, of_pair = (symmetric(rows, features) for _ in range(3))
pairs = [[first, first + 1] for first in range(0, world, 2)]
pair = pairs[rank // 2]
pair_of_torch = [dist.new_group(ranks) for ranks in pairs][rank // 2]

gathered = [torch.empty_like(x) for _ in range(world)]
theirs = {name: torch.empty_like(y) for name in ("y", "of_pair")}


def layer():
    iris.all_gather_matmul(x, up_weight, hidden)
    torch.matmul(F.gelu(hidden), down_weight.t(), out=partial)
    iris.all_reduce(partial, y)
    iris.all_reduce(partial, of_pair, pair)


def layer_of_torch():
    dist.all_gather(gathered, x)
    theirs["hidden"] = F.linear(torch.cat(gathered), up_weight)
    theirs["y"].copy_(partial)
    dist.all_reduce(theirs["y"])
    theirs["of_pair"].copy_(partial)
    dist.all_reduce(theirs["of_pair"], group=pair_of_torch)


def check():
    iris.synchronize()
    # PyTorch rounds to bf16 after each rank's summand, irisgen once: one unit in the last place for each of the former.
    for name, ours in (("hidden", hidden), ("y", y), ("of_pair", of_pair)):
        torch.testing.assert_close(ours, theirs[name], rtol=world * torch.finfo(dtype).eps, atol=0.03 if on_gpu else 1e-5)


x.copy_(random(*x.shape))
layer()
layer_of_torch()
check()

replays = 20 if on_gpu else 0
if on_gpu:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        layer()
        layer_of_torch()
    for _ in range(replays):
        x.copy_(random(*x.shape))
        graph.replay()
        torch.cuda.synchronize()
        check()
    del graph

if rank == 0:
    print(f"irisgen's results are those of torch.distributed on {world} ranks, {replays} replays of a graph included")
iris.stop()
dist.destroy_process_group()
