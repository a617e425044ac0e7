#!/usr/bin/env python3
"""Whether a solution of `regression` solves its equations: check.py DATA_FOLDER SOLUTION_FILE. By the data alone, in
float64: the gradient of |A·x - b|² + ridge·|x|² is zero there."""

import math
import pathlib
import struct
import sys

RIDGE = 1

folder, solution = map(pathlib.Path, sys.argv[1:])
x = [float(line) for line in solution.read_text().split()]
gradient = [RIDGE * value for value in x]
size = [0.0] * len(x)  # of what the gradient is the sum of
rows = 0
for rank in range(8):
    content = (folder / f"activation_rank{rank}.npy").read_bytes()
    begin = 10 + struct.unpack_from("<H", content, 8)[0]
    for row in struct.iter_unpack("<256e", content[begin:]):
        rows += 1
        error = math.fsum(a * b for a, b in zip(row, x)) - row[255]
        for i in range(len(x)):
            gradient[i] += row[i] * error
            size[i] += abs(row[i] * row[255])
assert len(x) == 255 and rows == 1792, (len(x), rows)
off = math.hypot(*gradient) / math.hypot(*size)
print(f"the gradient at the solution is {off:.1e} of that at zero")
sys.exit(0 if off < 1e-10 else 1)
