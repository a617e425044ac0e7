"""Collectives of several libraries side by side, as Markdown: collectives_table.py BENCH.json [PEERS.json…]

BENCH.json is what `irisgen bench … --against nccl --json` prints. A peers' file is a list of objects with `op` (the
pattern), `lib`, `bytes` as nccl-tests counts them, `us`, and `mode`: "eager" where launches were no graph, which is
marked with *. Prints a table for each pattern; where a library has no figure stands -. The best is bold.
"""
import collections
import json
import sys


def size_of(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:g} {unit}"
        count /= 1024


def read(bench, peers):
    """{pattern: {library: {bytes: (microseconds, note)}}}, the libraries in the order of their appearance."""
    times = collections.defaultdict(lambda: collections.defaultdict(dict))
    for report in bench:
        columns = times[report["pattern"]]
        for point in report["points"]:
            columns["irisgen"][point["bytes"]] = (point["time_us"], " " + point["variant"])
            for name, key in ((report["library"], "library_us"), (report["library"] + " in windows", "library_window_us")):
                if point[key] > 0:
                    columns[name][point["bytes"]] = (point[key], "")
    for figure in peers:
        if figure["op"] in times and figure["us"] > 0:
            note = "*" if figure.get("mode") == "eager" else ""
            times[figure["op"]]["PyTorch " + figure["lib"]][figure["bytes"]] = (figure["us"], note)
    return times


def cell(figure, best):
    if figure is None:
        return "-"
    text = f"{figure[0]:.0f}" if figure[0] >= 1000 else f"{figure[0]:.3g}"
    return (f"**{text}**" if figure[0] == best else text) + figure[1]


def table(pattern, columns):
    lines = [f"| {pattern}, µs | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for count in sorted(columns["irisgen"]):
        figures = [by_bytes.get(count) for by_bytes in columns.values()]
        best = min(figure[0] for figure in figures if figure)
        lines.append(f"| {size_of(count)} | " + " | ".join(cell(figure, best) for figure in figures) + " |")
    return "\n".join(lines)


def main(bench, *peers):
    def load(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    figures = [figure for path in peers for figure in load(path)]
    times = read(load(bench), figures)
    if not times:
        sys.exit(f"{bench} has no measurement")
    print("\n\n".join(table(pattern, columns) for pattern, columns in times.items()))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
