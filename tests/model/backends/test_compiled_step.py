"""`torch.compile` can take a recorded step whole."""

from __future__ import annotations

import torch

from model.backends.torch_eager import EagerNetwork
from model.decoding.network_interface import Capacity, RowTable, StepShape
from model.decoding.search import Search
from model.decoding.search_sizes import SearchSizes, SearchTokens
from model.decoding.slot_options import Features
from model.decoding.step import Step
from model.network.config import ModelConfig
from model.network.transformer import Transformer

CONFIG = ModelConfig(8000, 8000, 256, 4, 1024, 1, 2, norm="pre", max_positions=256)
SLOTS, WIDTH = 8, 4


def recorded_step() -> tuple[Step, RowTable]:
    """A step of eight slots of the bundled models' shape, as it is recorded, and its rows."""
    rows, places = SLOTS * WIDTH, torch.arange(SLOTS * WIDTH)
    network = EagerNetwork(Transformer(CONFIG), [0, 1, 2], Capacity(SLOTS, rows, 128, 256), True)
    tokens = SearchTokens(CONFIG.eos_id, 0)
    search = Search(SearchSizes(SLOTS, WIDTH, 256), tokens, torch.device("cpu"))
    columns = (places // WIDTH, places % WIDTH, places[:SLOTS].clone(), places, places[:0])
    return Step(network, search), RowTable(places.view(SLOTS, WIDTH), *columns)


def test_a_step_compiles_without_a_graph_break() -> None:
    step, table = recorded_step()
    plain = Features(False, False, False, False, 0, 0)
    try:
        with torch.inference_mode():
            explained = torch._dynamo.explain(step.run)(table, StepShape(32, 32), plain)
    finally:
        torch._dynamo.reset()
    assert explained.break_reasons == []
    assert explained.graph_break_count == 0
