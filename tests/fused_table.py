"""Fused kernels beside what limits them and others' ways, as Markdown: fused_table.py BENCH.json [PEERS.json…]

BENCH.json is what `irisgen bench … --json` prints of fused kernels of known shapes. A peers' file is a list of objects with
`op` (the pattern), `M`, `N`, `K`, `unfused` (a product and then a collective), and where there is one `torch_fused`, in
microseconds, with `mode`: "eager" where its launches were no graph, which is marked with *. Where there is no figure stands
-. Times are microseconds; the limit is the larger of the product alone and the bytes over the links.
"""
import json
import sys

COLUMNS = ["m × n × k", "ours", "takes", "product", "links", "of the limit", "product, then collective", "PyTorch, fused"]


def number(figure):
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.3g}"


def of_peers(figures):
    """{(pattern, m, n, k): (its unfused time, its fused one)} in words."""
    words = {}
    for figure in figures:
        if "unfused" not in figure:
            continue
        fused = figure.get("torch_fused", 0)
        star = "*" if figure.get("mode") == "eager" else ""
        key = (figure["op"], figure["M"], figure["N"], figure["K"])
        words[key] = (number(figure["unfused"]), number(fused) + star if fused > 0 else "-")
    return words


def rows(bench, peers):
    for report in bench:
        for point in report["points"]:
            if not point["of_limit"]:
                continue
            shape = tuple(point["extents"][name] for name in "mnk")
            yield [
                f"{report['pattern']} " + " × ".join(str(length) for length in shape),
                number(point["time_us"]),
                point["variant"],
                number(point["product_us"]),
                number(point["links_us"]),
                f"{100 * point['of_limit']:.0f} %",
                *peers.get((report["pattern"], *shape), ("-", "-")),
            ]


def main(bench, *peers):
    def load(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    lines = list(rows(load(bench), of_peers([figure for path in peers for figure in load(path)])))
    if not lines:
        sys.exit(f"{bench} has no measurement of a fused kernel")
    for cells in [COLUMNS, ["---"] * len(COLUMNS), *lines]:
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
