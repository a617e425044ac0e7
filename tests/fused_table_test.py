"""Whether fused_table.py joins what it is given."""
import functools
import unittest

import table_script

run = functools.partial(table_script.run, "fused_table.py")


def point(m, n, k, variant, time, product, links):
    return {"extents": {"m": m, "n": n, "k": k}, "variant": variant, "time_us": time, "product_us": product,
            "links_us": links, "of_limit": max(product, links) / time if product else None}


BENCH = [
    {"pattern": "all_gather_matmul", "points": [point(1024, 1280, 8192, "workgroup_specialized", 57.91, 36.94, 37.4)]},
    {"pattern": "matmul_all_reduce", "points": [point(8, 16, 32, "low_latency", 1188.2, 374.4, 1198.1)]},
    {"pattern": "matmul", "points": [point(8, 16, 32, "tiled", 5, 0, 0)]},
]
PEERS = [
    {"op": "all_gather_matmul", "M": 1024, "N": 1280, "K": 8192, "unfused": 112.2, "torch_fused": 820.4, "mode": "eager"},
    {"op": "matmul_all_reduce", "M": 8, "N": 16, "K": 32, "unfused": 1593.0},
    {"op": "matmul_all_reduce", "M": 8, "N": 16, "K": 64, "unfused": 1.0},
    {"op": "all_reduce", "bytes": 1024, "us": 3.0},
]
EXPECTED = """\
| m × n × k | ours | takes | product | links | of the limit | product, then collective | PyTorch, fused |
| --- | --- | --- | --- | --- | --- | --- | --- |
| all_gather_matmul 1024 × 1280 × 8192 | 57.9 | workgroup_specialized | 36.9 | 37.4 | 65 % | 112 | 820* |
| matmul_all_reduce 8 × 16 × 32 | 1188 | low_latency | 374 | 1198 | 101 % | 1593 | - |
"""


class FusedTable(unittest.TestCase):
    maxDiff = None

    def test_puts_limits_and_others_beside_ours(self):
        self.assertEqual(run(BENCH, PEERS).stdout, EXPECTED)

    def test_does_without_peers(self):
        self.assertTrue(run(BENCH).stdout.splitlines()[3].endswith("| 101 % | - | - |"))

    def test_refuses_to_show_nothing(self):
        self.assertNotEqual(run(BENCH[2:]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
