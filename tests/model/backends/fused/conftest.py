"""The kernels run in Triton's interpreter, on the CPU. Triton reads the variable when it is first
asked for a kernel, so it is set before any test module imports one."""

import os

os.environ["TRITON_INTERPRET"] = "1"
