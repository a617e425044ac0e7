"""What compiling collectives costs, as Markdown: compile_times.py IRISGEN [--filter REGEX] [--repeat N]

Each figure is milliseconds of CPU time, the user's and the system's, that one cold `irisgen compile` takes from its start
to its end, with nothing in irisgen's cache and the compilers' libraries in memory: the least of N. Other programs on the
machine hardly disturb it, and it is no longer where the kernels of an operation are compiled beside one another. The last
row is the same command where the cache has the code: what a figure holds beside the compiler's own work.
"""
import argparse
import itertools
import os
import re
import resource
import subprocess
import sys
import tempfile

VARIANTS = {
    "all_reduce": [
        "one_shot", "low_latency", "low_latency_two_shot", "two_shot", "reduce_scatter_all_gather", "ring", "atomic",
        "spinlock",
    ],
    "all_gather": ["direct", "low_latency", "copy_engine"],
    "reduce_scatter": ["direct", "low_latency"],
    "all_to_all": ["direct", "low_latency"],
    "broadcast": ["direct", "low_latency", "low_latency_scatter_gather", "scatter_gather", "chain"],
}
SHAPES = {"4096": "{n: 4096}", "64 Mi": "{n: 67108864}", "dynamic": "{n: dynamic}", "rows": "{m: dynamic, n: dynamic}"}
ROUTES = [("nvrtc", "sm_90a"), ("clang", "gfx90a"), ("clang", "gfx942"), ("clang", "gfx950"), ("hiprtc", "gfx90a")]


def kernels():
    """(name, description) of each collective, type, world and shape that there is."""
    rows = [(pattern, variant) for pattern, variants in VARIANTS.items() for variant in variants]
    for (pattern, variant), dtype, world, shape in itertools.product(rows, ("f32", "bf16"), (2, 8), SHAPES):
        if variant == "atomic" and dtype == "bf16":
            continue  # there is no such atomic
        if variant == "reduce_scatter_all_gather" and shape in ("dynamic", "rows"):
            continue  # n has to be known
        yield (f"{pattern} {variant} {dtype} w{world} {shape}",
               f"{{name: k, pattern: {pattern}, variant: {variant}, dtype: {dtype}, world: {world}, "
               f"shape: {SHAPES[shape]}}}")


def cpu_time(command, environment):
    """Milliseconds, or None where the command fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        return None
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def compile_time(irisgen, description, route, repeat, cached):
    with tempfile.TemporaryDirectory() as folder:
        spec = os.path.join(folder, "spec.yaml")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(f"irisgen: 1\nkernels:\n  - {description}\n")
        times = []
        for run in range(repeat + 1 if cached else repeat):
            cache = os.path.join(folder, "cache" if cached else f"cache{run}")
            times.append(cpu_time([irisgen, "compile", spec, "-q", "-o", os.path.join(folder, "code"),
                                   "--compiler", route[0], "--target", route[1]], {**os.environ, "IRISGEN_CACHE": cache}))
        if None in times:
            return None
        return min(times[1:] if cached else times)


def row(name, times):
    print(f"| {name} | " + " | ".join("-" if time is None else f"{time:.0f}" for time in times) + " |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("irisgen", help="the program")
    options.add_argument("--filter", default="", help="kernels whose names this is found in: 'ring bf16 w8', 'dynamic$'")
    options.add_argument("--repeat", type=int, default=5)
    given = options.parse_args()
    chosen = [(name, text) for name, text in kernels() if re.search(given.filter, name)]
    if not chosen:
        sys.exit(f"no kernel's name has {given.filter}")
    print("| CPU ms | " + " | ".join(" ".join(route) for route in ROUTES) + " |")
    print("|---|" + "---|" * len(ROUTES))
    for name, text in chosen:
        row(name, [compile_time(given.irisgen, text, route, given.repeat, cached=False) for route in ROUTES])
    row("cached", [compile_time(given.irisgen, chosen[0][1], route, given.repeat, cached=True) for route in ROUTES])


if __name__ == "__main__":
    main()
