"""How far `torch.compile` goes with a step: the kernels that Inductor makes of it on a CPU.

A C++ function of Inductor holds several loops, which a GPU would mostly run as a kernel each. So
both are printed, and the calls of library kernels. Seconds include two compilations of the step, of
which the first only looks for graph breaks.

    python -m benchmarks.compiled_step
"""

from __future__ import annotations

import re
import time

import torch
from torch._inductor.utils import run_and_get_code

from model.backends.torch_eager import EagerNetwork
from model.decoding.network_interface import Capacity, RowTable, StepShape
from model.decoding.search import Search
from model.decoding.search_sizes import SearchSizes, SearchTokens
from model.decoding.slot_options import Features
from model.decoding.step import Step
from model.network.config import ModelConfig
from model.network.transformer import Transformer

CONFIG = ModelConfig(8000, 8000, 256, 4, 1024, 1, 2, norm="pre", max_positions=256)
PLAIN = Features(False, False, False, False, 0, 0)
SHAPE = StepShape(32, 32)
SLOTS = 8
_SOURCE = re.compile(r"async_compile\.cpp_pybinding\(.*?extern \"C\"(.*?)'''\)", re.DOTALL)
_CALL = re.compile(r"(cpp_fused\w*|extern_kernels\.\w+|torch\.ops\.[\w.]+)\(")


def step_of(width: int) -> tuple[Step, RowTable]:
    """A step of eight slots of the bundled models' shape, as it is recorded, and its rows."""
    rows, places = SLOTS * width, torch.arange(SLOTS * width)
    network = EagerNetwork(Transformer(CONFIG), [0, 1, 2], Capacity(SLOTS, rows, 128, 256), True)
    search = Search(
        SearchSizes(SLOTS, width, 256), SearchTokens(CONFIG.eos_id, 0), torch.device("cpu")
    )
    columns = (places // width, places % width, places[:SLOTS].clone(), places, places[:0])
    return Step(network, search), RowTable(places.view(SLOTS, width), *columns)


def num_loops(body: str) -> int:
    """Outermost loops of a C++ function."""
    count, is_loop = 0, False
    opened: list[bool] = []
    for match in re.finditer(r"for\s*\(int64_t|[{}]", body):
        if match.group() == "}":
            opened.pop()
        elif match.group() == "{":
            opened.append(is_loop)
            is_loop = False
        else:
            count += not any(opened) and not is_loop
            is_loop = True
    return count


@torch.inference_mode()
def report(width: int) -> None:
    step, table = step_of(width)
    started = time.perf_counter()
    breaks = torch._dynamo.explain(step.run)(table, SHAPE, PLAIN).graph_break_count
    torch._dynamo.reset()
    _, codes = run_and_get_code(torch.compile(step.run), table, SHAPE, PLAIN)
    calls = [call for code in codes for call in _CALL.findall(code.partition("def call(")[2])]
    num_library = sum(not call.startswith("cpp_fused") for call in calls)
    loops = sum(num_loops(body) for code in codes for body in _SOURCE.findall(code))
    functions = len(calls) - num_library
    print(
        f"beam {width}: {breaks} graph breaks; {functions} functions of {loops} loops "
        f"and {num_library} library kernels; {time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    for beam_size in (1, 4):
        report(beam_size)
