"""`torch.compile` takes a recorded step whole, and one compilation serves many sizes."""

from __future__ import annotations

import functools

import pytest
import torch
from torch._dynamo.utils import counters

from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from tests.model.network.reference import EOS, run_to_end, tiny_model, tiny_runner
from tests.model.test_runner import texts


def test_compiled_steps_translate_alike_and_are_compiled_once_for_all_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a compiler: the traced operations run as they are. `fullgraph` refuses a break."""
    model = tiny_model(seed=3, n_decoder_layers=1)
    options = DecodingOptions(beam_size=4)
    crowd = [SourceSentence([*[5 + n] * (3 * n + 1), EOS], options) for n in range(7)]
    expected = texts(run_to_end(tiny_runner(model), crowd))
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    before = counters["stats"]["unique_graphs"]
    try:
        runner = tiny_runner(model, backend="compiled")
        assert texts(run_to_end(runner, crowd)) == expected
        assert counters["stats"]["unique_graphs"] - before <= 2  # of one slot, and of more
    finally:
        torch._dynamo.reset()
