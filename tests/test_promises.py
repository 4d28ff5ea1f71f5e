"""The table of promises has every fault that is tried, and the tests that it names exist."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from benchmarks.faults.catalogue import promises
from docs.tables import on_page_markdown

ROOT = Path(__file__).parents[1]
RESULTS = json.loads((ROOT / "docs" / "promises.json").read_text(encoding="utf-8"))


def test_every_promise_was_tried_and_stands_in_the_table() -> None:
    page = on_page_markdown((ROOT / "docs" / "promises.md").read_text(encoding="utf-8"))
    tried = promises("libfaketime")
    assert {promise.name for promise in tried} == set(RESULTS)
    for promise in tried:
        result = RESULTS[promise.name]
        written = (result["promise"], result["fault"], tuple(result["tests"]))
        assert written == (promise.words, promise.fault, promise.tests)
        assert f"make faults ONLY={promise.name}" in page


def test_tests_that_are_named_exist() -> None:
    named = [test for promise in promises("libfaketime") for test in promise.tests]
    assert len(named) >= 10
    for test in named:
        path, _, function = test.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        assert function in {one.name for one in tree.body if isinstance(one, functions)}, test
