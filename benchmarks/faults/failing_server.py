"""`dragoman serve` whose engines fail when they are told to; the server itself knows nothing of it.

    FAULTS=directory python -m benchmarks.faults.failing_server serve ...

Each file "step" or "admit" in the directory is removed, and makes that call of a runner fail. The
source embedding of the token FAULTS_TOKEN is NaN: the scores of every sentence that has it are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import model.backends.native.packed as packed
from model.backends.native.weights import Tables
from model.runner import Runner
from service.commands import main

_DIRECTORY = Path(os.environ["FAULTS"])


def _fails(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(runner: Runner, *arguments: Any) -> Any:
        try:
            (_DIRECTORY / name).unlink()
        except FileNotFoundError:
            return method(runner, *arguments)
        raise RuntimeError(f"an injected failure of {name}")

    return call


def _with_a_gap(tables_of: Callable[..., Tables], token: int) -> Callable[..., Tables]:
    def read(*arguments: Any) -> Tables:
        tables = tables_of(*arguments)
        source = tables.source.clone()
        source[token] = float("nan")
        return tables._replace(source=source)

    return read


if __name__ == "__main__":
    Runner.step = _fails("step", Runner.step)  # type: ignore[method-assign]
    Runner.admit = _fails("admit", Runner.admit)  # type: ignore[method-assign]
    if token := os.environ.get("FAULTS_TOKEN"):
        packed.tables_of = _with_a_gap(packed.tables_of, int(token))  # type: ignore[attr-defined]
    main()
