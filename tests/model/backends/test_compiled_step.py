"""`torch.compile` can take a recorded step whole; docs/gpu.md says what it makes of it."""

from __future__ import annotations

import torch

from benchmarks.compiled_step import PLAIN, SHAPE, step_of


def test_a_step_compiles_without_a_graph_break() -> None:
    step, table = step_of(4)
    try:
        with torch.inference_mode():
            explained = torch._dynamo.explain(step.run)(table, SHAPE, PLAIN)
    finally:
        torch._dynamo.reset()
    assert explained.break_reasons == []
    assert explained.graph_break_count == 0
