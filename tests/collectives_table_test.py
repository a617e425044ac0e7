"""Whether collectives_table.py joins what it is given."""
import functools
import unittest

import table_script

run = functools.partial(table_script.run, "collectives_table.py")
BENCH = [
    {
        "pattern": "all_reduce",
        "library": "NCCL 2.28.3",
        "points": [
            {"bytes": 1048576, "variant": "two_shot", "time_us": 10.12, "library_us": 20.3, "library_window_us": 17.7},
            {"bytes": 1024, "variant": "low_latency", "time_us": 2.41, "library_us": 1.9, "library_window_us": 0},
        ],
    }
]
PEERS = [
    {"op": "all_reduce", "lib": "nccl", "bytes": 1024, "us": 14.55, "mode": "graph"},
    {"op": "all_reduce", "lib": "symm", "bytes": 1048576, "us": 1234.4, "mode": "eager"},
    {"op": "all_reduce", "lib": "symm", "bytes": 4096, "us": 5.0, "mode": "eager"},
    {"op": "matmul_all_reduce", "M": 4, "unfused": 3.0},
]
EXPECTED = """\
| all_reduce, µs | irisgen | NCCL 2.28.3 | NCCL 2.28.3 in windows | PyTorch nccl | PyTorch symm |
|---|---|---|---|---|---|
| 1 KiB | 2.41 low_latency | **1.9** | - | 14.6 | - |
| 1 MiB | **10.1** two_shot | 20.3 | 17.7 | - | 1234* |
"""


class CollectivesTable(unittest.TestCase):
    maxDiff = None

    def test_puts_libraries_side_by_side(self):
        self.assertEqual(run(BENCH, PEERS).stdout, EXPECTED)

    def test_does_without_peers(self):
        self.assertEqual(run(BENCH).stdout.splitlines()[3], "| 1 MiB | **10.1** two_shot | 20.3 | 17.7 |")

    def test_refuses_to_show_nothing(self):
        self.assertNotEqual(run([]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
