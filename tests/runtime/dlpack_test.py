#!/usr/bin/python3
"""Tensors to NumPy and PyTorch and back, by DLPack: dlpack_test.py LIBRARY, made of dlpack_library.cpp. What is not
installed is left out; without NumPy the test is skipped."""

import ctypes
import gc
import sys

try:
    import numpy
except ImportError:
    print("skipped: no NumPy: apt-get install python3-numpy")
    sys.exit(77)
try:
    import torch.utils.dlpack
except ImportError:
    torch = None

library = ctypes.CDLL(sys.argv[1])
library.give.restype = ctypes.c_void_p
library.take.argtypes = [ctypes.c_void_p]
library.take.restype = ctypes.c_char_p

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = b"used_dltensor"


class Given:
    def __dlpack__(self, stream=None):
        return python.PyCapsule_New(library.give(), b"dltensor", None)

    def __dlpack_device__(self):
        return (1, 0)


def take(capsule):
    pointer = python.PyCapsule_GetPointer(capsule, b"dltensor")
    python.PyCapsule_SetName(capsule, USED)
    return library.take(pointer).decode()


def check(actual, expected):
    if actual != expected:
        sys.exit(f"{actual!r}, not {expected!r}")


array = numpy.from_dlpack(Given())
check(array.tolist(), [[0, 2], [4, 6], [8, 10]])
check(str(array.dtype), "float32")
check(library.is_kept(), 1)
del array
gc.collect()
check(library.is_kept(), 0)
check(take(numpy.arange(7, 19, dtype=numpy.int32).reshape(3, 4).__dlpack__()), "cpu i32 (3, 4) 7 18")
check(take(numpy.zeros((4, 6), dtype=numpy.float16)[:, :3].__dlpack__()), "cpu f16 (4, 3) with strides (6, 1)")
refused = take(numpy.zeros(3, dtype=numpy.int8).__dlpack__())
check(refused.startswith("a tensor of DLPack has elements of type code 0 with 8 bits"), True)

if torch:
    tensor = torch.utils.dlpack.from_dlpack(Given())
    check(tensor.tolist(), [[0, 2], [4, 6], [8, 10]])
    check(library.is_kept(), 1)
    del tensor
    gc.collect()
    check(library.is_kept(), 0)
    to_dlpack = torch.utils.dlpack.to_dlpack
    check(take(to_dlpack(torch.zeros(2, 5, dtype=torch.bfloat16))), "cpu bf16 (2, 5)")
    check(take(to_dlpack(torch.zeros(2, 5, dtype=torch.float64).t())), "cpu f64 (5, 2) with strides (1, 5)")
