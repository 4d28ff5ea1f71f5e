"""What setuptools finds in the tree: the packages and the C++. All else is in pyproject.toml."""

import itertools
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

NATIVE = Path("model/backends/native")
FLAGS = ["-std=c++17", "-O3", "-g0", "-fno-math-errno", "-fno-trapping-math"]
WARNINGS = ["-Wall", "-Wextra", "-Wno-psabi"]
LINKING = ["-pthread"]
if sys.platform == "linux":  # the wheel works beside an older C++ runtime than the compiler's
    LINKING += ["-static-libstdc++", "-Wl,--exclude-libs,ALL", "-Wl,--gc-sections"]


def files(*endings: str) -> list[str]:
    return sorted(str(file) for ending in endings for file in NATIVE.glob(f"*.{ending}"))


class ParallelBuild(build_ext):
    """setuptools compiles the sources of an extension one after another."""

    def build_extension(self, ext: Extension) -> None:
        compile_some = self.compiler.compile

        def compile_all(sources: list[str], **options: object) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = pool.map(lambda source: compile_some([source], **options), sources)
                return list(itertools.chain.from_iterable(objects))

        self.compiler.compile = compile_all
        super().build_extension(ext)


setup(
    cmdclass={"build_ext": ParallelBuild},
    packages=["dragoman_checkpoints", *find_packages(include=["dragoman", "model*", "service*"])],
    package_dir={"dragoman_checkpoints": "checkpoints"},
    ext_modules=[
        Extension(
            "model.backends.native._library",
            sources=files("cpp"),
            depends=files("h", "inc"),
            language="c++",
            extra_compile_args=[*FLAGS, "-pthread", *WARNINGS],
            extra_link_args=LINKING,
            py_limited_api=True,  # ctypes loads it, so one wheel is for every version of Python
            optional=True,  # without a C++ compiler the CPU computes with PyTorch, in float32
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
