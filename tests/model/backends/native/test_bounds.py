"""No size, id or place that comes from a text, a checkpoint or the batch makes our CPU code read or
write elsewhere: it is refused, and what is computed afterwards is as before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from model.backends.native import NativeSearch, PackedModel
from model.backends.native.network import CompiledPart
from model.decoding.decoder import WholeHypotheses
from model.decoding.options import DecodingOptions
from model.decoding.search_rules import SearchSizes, SearchTokens
from model.decoding.sentence import SourceSentence
from model.decoding.slot_allocator import BatchView
from tests.model.backends.native.stepped import SteppedNetwork
from tests.model.backends.test_networks import ROOM, SOURCES, steps
from tests.model.network.reference import CONTROL_IDS, EOS, encode, start, tiny_model

REFUSED = "got an argument that is out of bounds"
VIEW = BatchView([0, 1], [[0, 1], [2, 3]])
Change = Callable[[SteppedNetwork], object]


@pytest.fixture
def network() -> SteppedNetwork:
    model = tiny_model(positions="learned", shared_embeddings="none", has_shortlist=True)
    return SteppedNetwork(PackedModel(model, CONTROL_IDS, is_quantised=False), ROOM)


BAD_CALLS: dict[str, Change] = {
    **{f"a slot {n}": lambda net, n=n: encode(net, [0, n], SOURCES) for n in (3, -1)},
    **{f"an id {n}": lambda net, n=n: encode(net, [0], [[5, n, EOS]]) for n in (13, -1)},
    "one slot twice": lambda net: encode(net, [1, 1], SOURCES),
    "an empty sentence": lambda net: encode(net, [0, 1], [[], [5, EOS]]),
    "a long sentence": lambda net: encode(net, [0], [[5] * 41]),
    "more sentences than slots": lambda net: encode(net, [0, 1, 2, 0], [[5, EOS]] * 4),
    "a list that does not ascend": lambda net: shorten(net, [0, 1], [[5, 4], [3]]),
    "a token twice": lambda net: shorten(net, [0, 1], [[4, 5], [3, 3]]),
    **{f"a token {n}": lambda net, n=n: shorten(net, [0], [[n]]) for n in (13, -1)},
    **{f"a list for slot {n}": lambda net, n=n: shorten(net, [n], [[3]]) for n in (3, -1)},
    "two lists for a slot": lambda net: shorten(net, [1, 1], [[3], [4]]),
    **{f"a head {n}": lambda net, n=n: attend(net, heads=[(n, 0)]) for n in (2, -1)},
    "a short row of attention": lambda net: attend(net, longest_source=2),
    "a member twice": lambda net: decode(net, BatchView([0, 0], [[0, 1], [2, 3]])),
    "a member that is not there": lambda net: decode(net, BatchView([0, 7], [[0, 1], [2, 3]])),
    "a member without a sentence": lambda net: decode(net, BatchView([0, 2], [[0, 1], [2, 3]])),
    "fewer rows than the beam": lambda net: decode(net, BatchView([0, 1], [[0, 1], [2]])),
    "a row that is not there": lambda net: decode(net, BatchView([0, 1], [[0, 1], [2, 6]])),
    "a row of two members": lambda net: decode(net, BatchView([0, 1], [[0, 1], [1, 2]])),
    "a prefix that is no token": lambda net: decode(net, VIEW, bad_prefix),
}


def bad_prefix(made: NativeSearch) -> None:
    made.options[0]["prefix_length"][0] = 1
    made.prefix[0] = 99


def shorten(network: SteppedNetwork, slots: Sequence[int], lists: Sequence[list[int]]) -> None:
    network.shorten(np.array(slots, np.int32), [np.array(tokens, np.int32) for tokens in lists])


def attend(
    network: SteppedNetwork,
    heads: Sequence[tuple[int, int]] = ((0, 0),),
    longest_source: int = 31,
) -> object:
    tokens, lengths = torch.full((2, 3), 5), torch.tensor([3, 2])
    hypotheses = WholeHypotheses([0, 1], [0, 2], tokens, lengths, longest_source)
    return network.attention(hypotheses, list(heads))


def search() -> NativeSearch:
    found = NativeSearch(SearchSizes(3, 2, 40), SearchTokens(EOS, 0))
    options = DecodingOptions(beam_size=2)
    start(found, [SourceSentence(source, options) for source in SOURCES], [40, 40])
    return found


def decode(
    network: SteppedNetwork,
    view: BatchView,
    change: Callable[[NativeSearch], object] | None = None,
) -> int:
    made = search()  # whose state is an address
    if change is not None:
        change(made)
    return network.decode(made.state, CompiledPart(view), 1)


@pytest.mark.parametrize("name", BAD_CALLS)
@torch.inference_mode()
def test_a_bad_argument_is_refused_and_changes_nothing(network: SteppedNetwork, name: str) -> None:
    expected = steps(network, 4)
    with pytest.raises(ValueError, match=REFUSED):
        BAD_CALLS[name](network)
    for found, before in zip(steps(network, 4), expected, strict=True):
        assert torch.equal(found, before)
